// evaluate: the three truth values, and the values that carry a doubt: Unknown (with its fact) and Span (a count between two bounds).
// A condition's value is a small integer, so that the hot path allocates nothing:
// 0 false, 1 true, 2 and more: unknown for the reason of that number, below 0: an error, by its number.
import type { Fact } from '../../domain/facts.ts';
import type { DoubtWhy } from '../../domain/verdict.ts';

export type Truth = number;
export const FALSE: Truth = 0;
export const TRUE: Truth = 1;

/** A value that is not known, and why. One object per reason, made when a rule is compiled. */
export class Unknown {
  constructor(
    /** This reason as a truth value. */
    readonly truth: Truth,
    /** The fact that was missing, stale or of the wrong type. */
    readonly fact: string,
    /** The same as a sentence. */
    readonly text: string,
    readonly why?: DoubtWhy,
  ) {}
  get isError(): boolean {
    return this.truth < 0;
  }
}

/** A number known only to lie between two bounds, both inclusive; `hi` may be infinite. */
export class Span {
  constructor(
    readonly lo: number,
    readonly hi: number,
    /** Why it is not known better; undefined: the event log has gaps. */
    readonly doubt?: Truth,
  ) {}
}

export type Value = Fact | Unknown | Span;

/** All reasons of one compiled program. Truth values index into it. */
export class Reasons {
  private readonly unknowns: Unknown[] = [];
  private readonly errors: Unknown[] = [];
  private readonly byText = new Map<string, Unknown>();

  unknown(fact: string, text: string, why?: DoubtWhy): Unknown {
    return this.intern(this.unknowns, (length) => new Unknown(length + 2, fact, text, why));
  }
  error(text: string): Unknown {
    return this.intern(this.errors, (length) => new Unknown(-1 - length, text, text));
  }
  /** The reason of a truth value that is neither true nor false. */
  of(truth: Truth): Unknown {
    const found = truth < 0 ? this.errors[-1 - truth] : this.unknowns[truth - 2];
    if (!found) throw new RangeError(`no reason has the number ${truth}`);
    return found;
  }

  private intern(list: Unknown[], make: (length: number) => Unknown): Unknown {
    const made = make(list.length);
    const key = `${made.isError}${made.fact}\u0000${made.text}`;
    const known = this.byText.get(key);
    if (known) return known;
    list.push(made);
    this.byText.set(key, made);
    return made;
  }
}

/** Which of two doubts to report: an error before an unknown, else the one made first. The order of operands never matters. */
export function worse(a: Truth, b: Truth): Truth {
  if (a < 0 || b < 0) return a < 0 && b < 0 ? Math.max(a, b) : Math.min(a, b);
  return Math.min(a, b);
}

export function worseOf(a: Unknown, b: Unknown): Unknown {
  return worse(a.truth, b.truth) === a.truth ? a : b;
}

export function not(truth: Truth): Truth {
  return truth === 0 ? 1 : truth === 1 ? 0 : truth;
}

export function and(a: Truth, b: Truth): Truth {
  if (a === 0 || b === 0) return 0;
  if (a === 1) return b;
  return b === 1 ? a : worse(a, b);
}
