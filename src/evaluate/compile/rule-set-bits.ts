// evaluate: sets of rules as bits, 32 a word. A value of one fact rules out a set of rules at once.

export type RuleBits = Int32Array;

export const wordsFor = (rules: number): number => (rules + 31) >>> 5;

export function setBit(bits: RuleBits, rule: number): void {
  bits[rule >>> 5] = (bits[rule >>> 5] as number) | (1 << (rule & 31));
}

/** Adds all of `more` to `bits`. */
export function addAll(bits: RuleBits, more: RuleBits): void {
  for (let word = 0; word < more.length; word++) bits[word] = (bits[word] as number) | (more[word] as number);
}

/** Whether some rule of `rules` is not among `ruledOut`. */
export function leavesSome(ruledOut: RuleBits, rules: RuleBits): boolean {
  for (let word = 0; word < rules.length; word++) {
    if (((rules[word] as number) & ~(ruledOut[word] as number)) !== 0) return true;
  }
  return false;
}
