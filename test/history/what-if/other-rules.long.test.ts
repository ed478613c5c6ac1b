// test: the long form: WORLDS random worlds from a seed that is fresh unless WORLD_SEED names one.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compare, noFigures, world } from './other-rules.ts';

const WORLDS = Number(process.env.WORLDS ?? 500);
const SEED = Number(process.env.WORLD_SEED ?? Date.now() % 2 ** 31);

test(
  'what the other rules did in a life of their own, one for one, for long',
  async () => {
    const figures = noFigures();
    await fc.assert(
      fc.asyncProperty(world, (given) => compare(given, figures)),
      { numRuns: WORLDS, seed: SEED },
    );
    process.stdout.write(`seed ${SEED}: ${JSON.stringify(figures)}\n`);
    expect(figures.worlds).toBeGreaterThanOrEqual(WORLDS);
  },
  WORLDS * 5_000,
);
