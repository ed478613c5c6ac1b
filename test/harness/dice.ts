// harness: all chance of a simulation comes from a seed: the same seed rolls the same dice.
// In: a number or a text. Out: draws. It must never read any other source of chance.

/** One stream of chance (sfc32). Streams of different names do not disturb each other. */
export class Dice {
  private a: number;
  private b: number;
  private c: number;
  private d = 1;

  constructor(seed: number, name = '') {
    // A seed of one digit would cancel out against its own text. The others keep the dice that they have always had.
    let hash = 2_166_136_261 ^ (seed < 10 ? 0 : seed);
    for (const char of `${seed} ${name}`) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619);
    this.a = hash | 0;
    this.b = Math.imul(hash ^ 0x9e3779b9, 0x85ebca6b) | 0;
    this.c = Math.imul(hash ^ 0xc2b2ae35, 0x27d4eb2f) | 0;
    for (let round = 0; round < 12; round += 1) this.share();
  }

  /** In [0, 1). */
  share(): number {
    const sum = (this.a + this.b + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.share() < probability;
  }

  /** A whole number, both ends included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.share() * (to - from + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.share() * items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /** One of the names, each as likely as its weight says. */
  weighted<T extends string>(weights: { readonly [name in T]: number }): T {
    const entries = Object.entries(weights) as [T, number][];
    let rest = this.share() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      rest -= weight;
      if (rest < 0) return name;
    }
    return (entries.at(-1) as [T, number])[0];
  }
}
