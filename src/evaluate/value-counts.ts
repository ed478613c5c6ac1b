// evaluate: how often each value of one fact was seen in one pass, for the trust gate. Cheap: it runs for every record.
// Values as they are up to 64 different ones, the rest as `…other`; times and numbers as `zero` or `set`; absence as `∅`.
import type { Fact } from '../domain/facts.ts';
import type { ValueType } from './record-types/field-types.ts';
import type { RuleBits } from './rule-set-bits.ts';

const VALUES_MAX = 64;
/** Equal to no value. */
const NOTHING = Symbol('nothing');
export const ABSENT = '∅';
export const OTHER = '…other';

/** One value: how often it was seen, and the rules it rules out, once that was asked. */
export interface Tally {
  count: number;
  ruledOut: RuleBits | undefined;
}

/** Whether a fact of this type has few values, so that they are counted and remembered as they are. */
export const hasFewValues = (type: ValueType): boolean => ['text', 'flag', 'boolean', 'score'].includes(type.kind);

export class ValueCounts {
  private readonly byValue = new Map<Fact, Tally>();
  /** Whole scores again, where looking up is cheaper. */
  private readonly byNumber = new Array<Tally | undefined>(101).fill(undefined);
  private readonly other: Tally = { count: 0, ruledOut: undefined };
  private none = 0;
  private zero = 0;
  private set = 0;
  /** Records repeat themselves: the value before is most often the value now. */
  private lastValue: Fact | undefined | symbol = NOTHING;
  private last: Tally | undefined;

  addNone(): void {
    this.none++;
  }

  /** The tally of a value that was added before; not counted yet. */
  known(value: Fact | undefined): Tally | undefined {
    if (value === this.lastValue) return this.last;
    if (typeof value === 'number') return this.byNumber[value];
    const tally = this.byValue.get(value as Fact);
    if (tally !== undefined) {
      this.lastValue = value as Fact;
      this.last = tally;
    }
    return tally;
  }

  /** Counts a value as it is. Undefined: one of too many, which are counted together. */
  add(value: Fact): Tally | undefined {
    let tally = this.byValue.get(value);
    if (tally === undefined) {
      if (this.byValue.size >= VALUES_MAX) {
        this.other.count++;
        return undefined;
      }
      tally = { count: 0, ruledOut: undefined };
      this.byValue.set(value, tally);
      if (typeof value === 'number' && value >= 0 && value <= 100 && Number.isInteger(value))
        this.byNumber[value] = tally;
    }
    tally.count++;
    return tally;
  }

  /** Counts a value by whether it is set. */
  addSet(value: Fact): void {
    const isZero = value === 0 || value === 0n || (Array.isArray(value) && value.length === 0);
    if (isZero) this.zero++;
    else this.set++;
  }

  result(): Record<string, number> {
    const result: Record<string, number> = Object.create(null);
    for (const [value, tally] of this.byValue) result[String(value)] = tally.count;
    if (this.other.count > 0) result[OTHER] = this.other.count;
    if (this.zero > 0) result.zero = this.zero;
    if (this.set > 0) result.set = this.set;
    if (this.none > 0) result[ABSENT] = this.none;
    return result;
  }
}
