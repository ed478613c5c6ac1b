// evaluate: what one pass keeps of each value that it has seen, by a small integer, its code: how often, and the rules that it rules out.
// In: codes. Out: counts and bits, in two typed arrays for all facts, so that no value costs an object. A code stands for one value of one fact.
import { type RuleBits, wordsFor } from '../compile/rule-set-bits.ts';

export class CodeTable {
  /** By code. INVARIANT: replaced when it grows. */
  counts = new Int32Array(64);
  /** `words` of them for each code. INVARIANT: replaced when it grows. */
  ruledOut: RuleBits;
  readonly words: number;
  private used = 0;

  constructor(rules: number) {
    this.words = wordsFor(rules);
    this.ruledOut = new Int32Array(64 * this.words);
  }

  /** A code that stands for nothing yet, and rules out nothing. */
  begin(): number {
    if (this.used === this.counts.length) {
      this.counts = grown(this.counts);
      this.ruledOut = grown(this.ruledOut);
    }
    return this.used++;
  }

  count(code: number): void {
    this.counts[code] = this.countOf(code) + 1;
  }

  countOf(code: number): number {
    return this.counts[code] as number;
  }

  rulesOut(code: number, bits: RuleBits): void {
    this.ruledOut.set(bits, code * this.words);
  }
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
