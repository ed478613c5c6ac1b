// history: a set of small numbers, a bit each: which of a hundred thousand subjects a rule has matched at some time. In: numbers from 0. Out: how
// many different ones there were.

export class IndexBits {
  size = 0;
  private words = new Uint32Array(32);

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.words.length) this.grow(word);
    const before = this.words[word] as number;
    const after = (before | (1 << (index & 31))) >>> 0;
    if (after === before) return;
    this.words[word] = after;
    this.size += 1;
  }

  private grow(word: number): void {
    const words = new Uint32Array(Math.max(word + 1, this.words.length * 2));
    words.set(this.words);
    this.words = words;
  }
}
