// history: how many subjects each rule matches and could not judge, now and at any time of a replay. In: verdicts as they change. Out: counts.
// Tables of bits: a rule may be in doubt about every device of a fleet.
import type { WorldSubject } from './world-kind.ts';

class Bits {
  private words = new Uint32Array(64);
  count = 0;

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.words.length) {
      const more = new Uint32Array(2 ** Math.ceil(Math.log2(word + 1)));
      more.set(this.words);
      this.words = more;
    }
    const bit = 1 << (index & 31);
    if (((this.words[word] as number) & bit) !== 0) return;
    this.words[word] = (this.words[word] as number) | bit;
    this.count += 1;
  }
}

export class RuleCounts {
  /** Of the present run. */
  matches = 0;
  unknown = 0;
  private readonly everMatched = new Bits();
  private readonly everUnknown = new Bits();
  private readonly missingFacts = new Map<string, Bits>();

  /** By different subjects, at any time. */
  get ever(): { matches: number; unknown: number; missing: { [fact: string]: number } } {
    const missing = Object.fromEntries([...this.missingFacts].map(([fact, bits]) => [fact, bits.count]));
    return { matches: this.everMatched.count, unknown: this.everUnknown.count, missing };
  }

  /** All verdicts are found anew. */
  beginAgain(): void {
    this.matches = 0;
    this.unknown = 0;
  }

  match({ index }: WorldSubject): void {
    this.matches += 1;
    this.everMatched.add(index);
  }

  /** Whole runs alone say how many match at a time. */
  matchOfLook({ index }: WorldSubject): void {
    this.everMatched.add(index);
  }

  doubt({ index }: WorldSubject, fact: string): void {
    this.unknown += 1;
    this.everUnknown.add(index);
    const bits = this.missingFacts.get(fact) ?? new Bits();
    this.missingFacts.set(fact, bits);
    bits.add(index);
  }
}
