// evaluate: how often each value of one fact was seen in one pass, for the trust gate. Cheap: it runs for every record.
// Values as they are up to 64 different ones, the rest as `…other`; times and numbers as `zero` or `set`; absence as `∅`.
import type { Fact } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import type { RuleBits } from '../compile/rule-set-bits.ts';
import type { ValueType } from '../record-types/field-types.ts';

const VALUES_MAX = 64;
/** Equal to no value. */
const NOTHING = Symbol('nothing');
export const ABSENT = '∅';
export const OTHER = '…other';

/** How often one value was seen, and the rules that it rules out, once these are known. */
export interface Tally {
  count: number;
  ruledOut: RuleBits | undefined;
}

/** Whether a fact of this type has few values, so that they are counted and remembered as they are. */
export const hasFewValues = (type: ValueType): boolean => ['text', 'flag', 'boolean', 'score'].includes(type.kind);

function isWholeScore(value: Fact | undefined): value is number {
  return typeof value === 'number' && value >= 0 && value <= 100 && Number.isInteger(value);
}

export class ValueCounts {
  private readonly byValue = new Map<Fact, Tally>();
  /** Whole scores again, where looking up is cheaper: also those beyond the first 64 values. */
  private readonly byScore = new Array<Tally | undefined>(101).fill(undefined);
  /** What is counted together. */
  private readonly others: Tally[] = [];
  private other = 0;
  private none = 0;
  private zero = 0;
  private set = 0;
  /** Values repeat: the next one is most often the same as the last. */
  private lastValue: Fact | undefined | symbol = NOTHING;
  private last: Tally | undefined;

  /** A part of a pass counts each value: which of them are the first is known when the parts are merged. */
  constructor(private readonly valuesMax: number = VALUES_MAX) {}

  addNone(): void {
    this.none++;
  }

  /** The tally of a value that was added before. Does not count it. */
  known(value: Fact | undefined): Tally | undefined {
    if (value === this.lastValue) return this.last;
    if (isWholeScore(value)) return this.byScore[value];
    const tally = this.byValue.get(value as Fact);
    if (tally !== undefined) {
      this.lastValue = value as Fact;
      this.last = tally;
    }
    return tally;
  }

  /** Counts a value unchanged. Undefined when there are too many values: the rest are counted together. */
  add(value: Fact): Tally | undefined {
    const tally = this.known(value) ?? this.begin(value);
    if (tally) tally.count++;
    else this.other++;
    return tally;
  }

  /** Counts a value by whether it is set. */
  addSet(value: Fact): void {
    if (typeof value === 'number') this.addNumber(value);
    else if (Array.isArray(value)) this.addList(value);
    else if (value === 0n) this.zero++;
    else this.set++;
  }

  addNumber(value: number): void {
    if (value === 0) this.zero++;
    else this.set++;
  }

  addList(value: readonly Fact[]): void {
    if (value.length === 0) this.zero++;
    else this.set++;
  }

  private begin(value: Fact): Tally | undefined {
    const isScore = isWholeScore(value);
    const isOneOfMany = this.byValue.size >= this.valuesMax;
    if (isOneOfMany && !isScore) return undefined;
    const tally: Tally = { count: 0, ruledOut: undefined };
    if (isOneOfMany) this.others.push(tally);
    else this.byValue.set(value, tally);
    if (isScore) this.byScore[value] = tally;
    return tally;
  }

  part(): ValuePart {
    const { none, zero, set } = this;
    const counts = [...this.byValue.values()].map(({ count }) => count);
    return { values: [...this.byValue.keys()], counts, none, zero, set };
  }

  /** Adds what the next part of a pass counted. */
  addPart({ values, counts, none, zero, set }: ValuePart): void {
    values.forEach((value, index) => {
      const count = counts[index] as number;
      const tally = this.known(value) ?? this.begin(value);
      if (tally) tally.count += count;
      else this.other += count;
    });
    this.none += none;
    this.zero += zero;
    this.set += set;
  }

  /** `name`: of the fact. Secrets are redacted. */
  result(name: string): Record<string, number> {
    const result: Record<string, number> = Object.create(null);
    for (const [value, tally] of this.byValue) {
      const key = String(redacted(value, name));
      result[key] = (result[key] ?? 0) + tally.count;
    }
    const other = this.others.reduce((sum, tally) => sum + tally.count, this.other);
    if (other > 0) result[OTHER] = other;
    if (this.zero > 0) result.zero = this.zero;
    if (this.set > 0) result.set = this.set;
    if (this.none > 0) result[ABSENT] = this.none;
    return result;
  }
}
