// evaluate: what one fact alone decides. A rule is false as soon as one condition that must hold is; where that condition
// reads a single fact, the fact's value rules the rule out, with all others that need the same. Values repeat, so the set
// of rules that a value rules out is remembered. INVARIANT: an unknown fact rules out nothing.
import type { Fact } from '../../domain/facts.ts';
import type { Condition, Frame } from '../language/frame.ts';
import { compareNumbers, type Exact } from '../language/numbers.ts';
import { FALSE } from '../language/three-valued.ts';
import { addAll, type RuleBits, setBit, wordsFor } from './rule-set-bits.ts';

/** One condition on one fact, and the rules that cannot match without it. */
export interface Requirement {
  condition: Condition;
  rules: RuleBits;
  /** When it only compares the fact with a number: that number. */
  bound: Exact | undefined;
}

export class SlotVerdicts {
  private readonly requirements: Requirement[] = [];
  constructor(private readonly ruleCount: number) {}

  require(condition: Condition, bound: Exact | undefined, rule: number): void {
    let requirement = this.requirements.find((each) => each.condition === condition);
    if (!requirement) {
      requirement = { condition, bound, rules: new Int32Array(wordsFor(this.ruleCount)) };
      this.requirements.push(requirement);
    }
    setBit(requirement.rules, rule);
  }

  /** The numbers that the fact is compared with, ascending; undefined when something else is asked of it, too. */
  bounds(): Exact[] | undefined {
    const bounds = this.requirements.map((requirement) => requirement.bound);
    if (bounds.some((bound) => bound === undefined)) return undefined;
    const distinct: Exact[] = [];
    for (const bound of bounds as Exact[])
      if (!distinct.some((other) => compareNumbers('==', other, bound, 0) === 1)) distinct.push(bound);
    return distinct.sort((a, b) => (a < b ? -1 : 1));
  }

  /** The rules that the fact's present value rules out. */
  ruledOut(frame: Frame): RuleBits {
    const bits = new Int32Array(wordsFor(this.ruleCount));
    this.addRuledOut(frame, bits);
    return bits;
  }

  addRuledOut(frame: Frame, bits: RuleBits): void {
    for (const { condition, rules } of this.requirements) if (condition(frame) === FALSE) addAll(bits, rules);
  }
}

const REMEMBERED_MAX = 1_000;

/** The verdicts of one slot with a memory, for one pass: by value where values repeat, else by where among the bounds it lies. */
export class RememberedVerdicts {
  private readonly byValue = new Map<Fact, RuleBits>();
  private readonly byStretch: (RuleBits | undefined)[] = [];
  private readonly exactBounds: Exact[] | undefined;
  /** The nearest number to each bound. A number that is none of these lies on the same side of both. */
  private readonly near: number[];
  constructor(
    private readonly verdicts: SlotVerdicts,
    /** Texts and scores repeat; times do not. */
    private readonly repeats: boolean,
  ) {
    this.exactBounds = repeats ? undefined : verdicts.bounds();
    this.near = (this.exactBounds ?? []).map(Number);
  }

  /** The nearest number to each bound, ascending; undefined when something else is asked of the fact, too. */
  get bounds(): readonly number[] | undefined {
    return this.exactBounds && this.near;
  }

  /** Excludes the rules that the value, which is already in its slot, rules out. */
  apply(value: Fact, frame: Frame): void {
    if (this.repeats || this.exactBounds) addAll(frame.ruledOut, this.bitsOf(value, frame));
    else this.verdicts.addRuledOut(frame, frame.ruledOut);
  }

  /** The rules that the value, which is already in its slot, rules out. */
  bitsOf(value: Fact, frame: Frame): RuleBits {
    if (this.exactBounds) return this.bitsOfStretch(value as Exact, this.exactBounds, frame);
    const known = this.byValue.get(value);
    if (known) return known;
    const bits = this.verdicts.ruledOut(frame);
    if (this.byValue.size < REMEMBERED_MAX) this.byValue.set(value, bits);
    return bits;
  }

  /** Between two neighbouring bounds all values have the same verdicts; so has each bound itself. */
  private bitsOfStretch(value: Exact, bounds: readonly Exact[], frame: Frame): RuleBits {
    let stretch = 0;
    while (stretch < bounds.length && value > (bounds[stretch] as Exact)) stretch++;
    // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
    const index = stretch * 2 + (stretch < bounds.length && value == bounds[stretch] ? 1 : 0);
    const known = this.byStretch[index];
    if (known) return known;
    const bits = this.verdicts.ruledOut(frame);
    this.byStretch[index] = bits;
    return bits;
  }
}
