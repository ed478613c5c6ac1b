// console seed: pseudo-random choices that a seed repeats.
// In: a seed. Out: the same choices each time. It must never be used for secrets.

export interface Choices {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  int(below: number): number;
  /** A whole number in [from, to]. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Picks by weight. */
  weigh<T>(from: readonly (readonly [T, number])[]): T;
}

/** sfc32, warmed up: fast, and good enough for a made-up organization. */
export function choicesFrom(seed: number): Choices {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = 0xb7e15162;
  let d = (seed >>> 0) ^ 0xdeadbeef;
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 16; round++) next();
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    between: (from, to) => from + int(to - from + 1),
    chance: (probability) => next() < probability,
    pick: (from) => from[int(from.length)] as (typeof from)[number],
    weigh(from) {
      let left = next() * from.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [value, weight] of from) {
        left -= weight;
        if (left < 0) return value;
      }
      return (from.at(-1) as (typeof from)[number])[0];
    },
  };
}
