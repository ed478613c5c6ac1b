// rules: all rules of one subject kind, compiled together: equal conditions once, and what one fact alone decides first.
// In: loaded rules. Out: slots to read, which rules each fact can rule out, and the conditions of those that are left.

import type { Fact } from '../../domain/facts.ts';
import {
  type Condition,
  type Expression,
  FALSE,
  type Frame,
  factsIn,
  isReadLate,
  keyOf,
  partsOf,
  type Reasons,
  STEPS_MAX,
  TRUE,
  type Truth,
  type Value,
  walk,
} from '../language/expression.ts';
import { compareNumbers, type Exact, isExact, type LoadedRule } from '../language/loaded-rule.ts';
import { allOf, type Compiler, newCompiler, type Probe, type Slot, slotOf } from './expressions.ts';

export type RuleBits = Int32Array;

export const wordsFor = (rules: number): number => (rules + 31) >>> 5;

function setBit(bits: RuleBits, rule: number): void {
  bits[rule >>> 5] = (bits[rule >>> 5] as number) | (1 << (rule & 31));
}

/** Adds all of `more` to `bits`. */
function addAll(bits: RuleBits, more: RuleBits): void {
  for (let word = 0; word < more.length; word++) bits[word] = (bits[word] as number) | (more[word] as number);
}

/** Whether some rule of `rules` is not among `ruledOut`. */
function leavesSome(ruledOut: RuleBits, rules: RuleBits): boolean {
  for (let word = 0; word < rules.length; word++) {
    if (((rules[word] as number) & ~(ruledOut[word] as number)) !== 0) return true;
  }
  return false;
}

// A fresh frame for a compiled program.

interface FrameSize {
  rules: number;
  slots: number;
  truths: number;
}

export function newFrame(
  size: FrameSize,
  nowMs: number,
  readers: Pick<Frame, 'readVirtual' | 'readPast' | 'showPast'>,
): Frame {
  return {
    record: {},
    isPlain: true,
    slots: new Array<Value | undefined>(size.slots).fill(undefined),
    item: null,
    nowMs,
    nowNs: BigInt(Math.trunc(nowMs)) * 1_000_000n,
    steps: STEPS_MAX,
    ruledOut: new Int32Array(wordsFor(size.rules)),
    doubts: 0,
    turn: 0,
    truths: new Int32Array(size.truths),
    truthTurns: new Int32Array(size.truths),
    slotTurns: new Int32Array(size.slots),
    virtual: {},
    virtualTurns: {},
    ...readers,
  };
}

// What one fact alone decides. A rule is false as soon as one condition that must hold is; where that condition reads a
// single fact, the fact's value rules the rule out, with all others that need the same. Values repeat, so the set of
// rules that a value rules out is remembered. INVARIANT: an unknown fact rules out nothing.

/** One condition on one fact, and the rules that cannot match without it. */
interface Requirement {
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

/** Beyond this many, asking whether a shared condition still matters would cost more than it saves. */
const SHARED_MAX = 16;

/** One rule within its program. */
export interface ProgramRule {
  rule: LoadedRule;
  condition: Condition;
  /** Its conjuncts that no single known fact decides; undefined when there are none. */
  rest: Condition | undefined;
  slots: Slot[];
}

export interface Program {
  /** For evaluating a part of a rule alone, in a frame of this program. */
  compiler: Compiler;
  rules: ProgramRule[];
  slots: Slot[];
  /** By slot: what its fact alone decides. */
  verdicts: (SlotVerdicts | undefined)[];
  reasons: Reasons;
  size: FrameSize;
  /** Evaluates the rules that no fact has ruled out, and reports those that are not false. Facts must have been read. */
  evaluate(frame: Frame, report: (rule: number, truth: Truth) => void): void;
}

export function compileProgram(rules: readonly LoadedRule[], probe?: Probe): Program {
  const compiler = newCompiler(probe);
  for (const rule of rules) countUses(rule.condition, compiler.uses);
  const compiled = rules.map((rule): ProgramRule => {
    const slots = factsIn(rule.condition).map((fact) => slotOf(fact, compiler));
    const condition = compiler.condition(rule.condition);
    return { rule, condition, rest: probe ? condition : compileRest(rule, compiler), slots };
  });
  const slots = [...compiler.slots.values()];
  const shared = probe ? [] : sharedConjuncts(rules, compiler);
  return {
    compiler,
    rules: compiled,
    slots,
    // For coverage, every condition must be evaluated.
    verdicts: probe ? [] : verdictsBySlot(rules, compiler),
    reasons: compiler.reasons,
    size: { rules: rules.length, slots: slots.length, truths: compiler.sharedCount },
    evaluate: (frame, report) => evaluateRest(compiled, shared, frame, report),
  };
}

/** Evaluates the rules that are still in question. Where no fact is unknown, single facts have decided their conditions already. */
function evaluateRest(
  rules: readonly ProgramRule[],
  shared: readonly Requirement[],
  frame: Frame,
  report: (rule: number, truth: Truth) => void,
): void {
  const { ruledOut } = frame;
  for (let i = 0; i < shared.length; i++) {
    const { condition, rules: those } = shared[i] as Requirement;
    if (leavesSome(ruledOut, those) && condition(frame) === FALSE) addAll(ruledOut, those);
  }
  const isDoubtful = frame.doubts > 0;
  for (let word = 0; word < ruledOut.length; word++) {
    for (let left = ~(ruledOut[word] as number); left !== 0; left &= left - 1) {
      const index = (word << 5) + 31 - Math.clz32(left & -left);
      if (index >= rules.length) return;
      const rule = rules[index] as ProgramRule;
      const ask = isDoubtful ? rule.condition : rule.rest;
      const truth = ask === undefined ? TRUE : ask(frame);
      if (truth !== FALSE) report(index, truth);
    }
  }
}

/**
 * Conditions that several rules need and no single fact decides, such as one over a list: asked once, before the rules, while some
 * of these are still in question. In the order of the rules, so that what stands first in a rule is asked first.
 */
function sharedConjuncts(rules: readonly LoadedRule[], compiler: Compiler): Requirement[] {
  const byKey = new Map<string, Requirement & { count: number }>();
  rules.forEach((rule, index) => {
    for (const conjunct of conjunctsOf(rule.condition)) {
      if (onlySlot(conjunct, compiler) !== undefined) continue;
      const key = keyOf(conjunct);
      let found = byKey.get(key);
      if (!found) {
        const condition = compiler.condition(conjunct);
        found = { condition, bound: undefined, rules: new Int32Array(wordsFor(rules.length)), count: 0 };
        byKey.set(key, found);
      }
      setBit(found.rules, index);
      found.count++;
    }
  });
  return [...byKey.values()].filter(({ count }) => count > 1).slice(0, SHARED_MAX);
}

/** The conjuncts of rules that read one fact of the record, by the fact's slot. */
function verdictsBySlot(rules: readonly LoadedRule[], compiler: Compiler): (SlotVerdicts | undefined)[] {
  const verdicts: (SlotVerdicts | undefined)[] = [];
  rules.forEach((rule, index) => {
    for (const conjunct of conjunctsOf(rule.condition)) {
      const slot = onlySlot(conjunct, compiler);
      if (slot === undefined) continue;
      verdicts[slot] ??= new SlotVerdicts(rules.length);
      verdicts[slot].require(compiler.condition(conjunct), boundOf(conjunct), index);
    }
  });
  return verdicts;
}

/** The number that a condition compares its fact with, when that is all it does. */
function boundOf(condition: Expression): Exact | undefined {
  if (condition.op !== 'call' || !condition.operator.isPlainComparison) return undefined;
  const literal = condition.args.find((arg) => arg.op === 'literal');
  const isBound = literal?.op === 'literal' && condition.args.some((arg) => arg.op === 'fact');
  return isBound && isExact(literal.value) ? literal.value : undefined;
}

function compileRest(rule: LoadedRule, compiler: Compiler): Condition | undefined {
  const conjuncts = conjunctsOf(rule.condition);
  const left = conjuncts.filter((conjunct) => onlySlot(conjunct, compiler) === undefined || !isTotal(conjunct));
  // The whole condition may be shared with other rules.
  if (left.length === conjuncts.length) return compiler.condition(rule.condition);
  if (left.length === 0) return undefined;
  return allOf(
    left.map((conjunct) => compiler.condition(conjunct)),
    compiler.isWatched,
  );
}

/**
 * Whether a condition is true or false as soon as its facts are known. An age of a time that was never set is neither,
 * and a pattern over a text that is too long is an error.
 */
function isTotal(condition: Expression): boolean {
  let total = true;
  walk(condition, (part) => {
    if (part.op === 'item' || (part.op === 'call' && !part.operator.isTotal)) total = false;
  });
  return total;
}

/** The slot that a condition's value depends on alone; undefined when it reads more, or something that is read late. */
function onlySlot(condition: Expression, compiler: Compiler): number | undefined {
  const facts = factsIn(condition);
  const fact = facts[0];
  if (!fact || facts.length > 1 || isReadLate(fact)) return undefined;
  // Looking into lists is expensive, so it is left for when the rule is still in question.
  if (fact.type.kind === 'list' || fact.type.kind === 'record' || fact.type.kind === 'any') return undefined;
  let plain = true;
  walk(condition, (part) => {
    if (part.op === 'call' && part.operator.looksIn) plain = false;
  });
  return plain ? slotOf(fact, compiler).index : undefined;
}

function countUses(expression: Expression, uses: Map<string, number>): void {
  const key = keyOf(expression);
  uses.set(key, (uses.get(key) ?? 0) + 1);
  for (const part of partsOf(expression)) countUses(part, uses);
}

/** The conditions that must all hold. */
function conjunctsOf(condition: Expression): Expression[] {
  if (condition.op === 'call' && condition.operator.isConjunction) return condition.args.flatMap(conjunctsOf);
  return [condition];
}
