// harness: lives with change windows: crashes, a lying platform, people and clocks that jump, and half of the time nothing may act.
import { expect, it } from 'vitest';
import { isThorough } from '../support/fixed-seed.ts';
import { simulate } from './simulation.ts';

/** Those below 10 are one life. */
const SEEDS = Array.from({ length: isThorough ? 7 : 5 }, (_, at) => at + 10);

it('in a change window nothing acts, undoing goes on, and nothing is lost after it', { timeout: 240_000 }, async () => {
  let [undone, requests] = [0, 0];
  for (const seed of SEEDS) {
    const result = await simulate(seed, { freezes: 'heeded' });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    undone += result.undoneInFreeze;
    requests += result.requests;
  }
  expect(undone).toBeGreaterThan(0);
  expect(requests).toBeGreaterThan(40);
});

it('an engine that acts in a change window is found', { timeout: 240_000 }, async () => {
  const kinds = new Set<string>();
  for (let seed = SEEDS[0] as number; seed < 100 && !kinds.has('in_freeze'); seed += 1) {
    const { violations } = await simulate(seed, { freezes: 'ignored' });
    for (const { kind } of violations) kinds.add(kind);
  }
  expect(kinds).toContain('in_freeze');
});
