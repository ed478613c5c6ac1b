// harness: lives in which a rule begins with half of its subjects: crashes, a lying platform, people who reverse what it did and release all of it.
import { expect, it } from 'vitest';
import { simulate } from './simulation.ts';

const SEEDS = Array.from({ length: 14 }, (_, at) => at + 10);

it('nothing is called outside of the share, or while what people did stops the rule, and nothing is lost after it', {
  timeout: 240_000,
}, async () => {
  let [stopped, requests] = [0, 0];
  for (const seed of SEEDS) {
    const result = await simulate(seed, { rollouts: 'heeded' });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    stopped += result.stoppedRollouts;
    requests += result.requests;
  }
  expect(stopped).toBeGreaterThan(0);
  expect(requests).toBeGreaterThan(80);
});

it.each([
  ['share_is_ignored', 10, 'outside_share'],
  ['own_undo_is_counted', 35, 'false_brake'],
] as const)(
  'the planted bug %s is found at its seed, and nothing there without it',
  {
    timeout: 240_000,
  },
  async (bug, seed, kind) => {
    const { violations } = await simulate(seed, { rollouts: bug });
    expect(violations.map((one) => one.kind)).toContain(kind);
    expect((await simulate(seed, { rollouts: 'heeded' })).violations).toEqual([]);
  },
);
