// test: rules B replayed over what a life by rules A recorded do what a life by rules B did, or the replay says why it cannot know.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compare, noFigures, world } from './other-rules.ts';

test('what the other rules did in a life of their own, one for one', async () => {
  const figures = noFigures();
  await fc.assert(
    fc.asyncProperty(world, (given) => compare(given, figures)),
    { numRuns: 12 },
  );
  expect(figures.acts).toBeGreaterThan(10);
  expect(figures.untrusted).toBeGreaterThan(0);
}, 120_000);
