// harness: lives in which guards begin while calls are in doubt: crashes, a lying platform, people who approve some of what waits.
import { expect, it } from 'vitest';
import { simulate } from './simulation.ts';

const SEEDS = Array.from({ length: 10 }, (_, at) => at + 10);

it('nothing guarded is called without the yes of a person, and nothing is lost once the guards are gone', {
  timeout: 240_000,
}, async () => {
  let requests = 0;
  for (const seed of SEEDS) {
    const result = await simulate(seed, { guards: 'heeded' });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    requests += result.requests;
  }
  expect(requests).toBeGreaterThan(40);
});

it.each(['guards_are_ignored', 'retry_forgets_guards'] as const)(
  'the planted bug %s is found, and nothing there without it',
  { timeout: 240_000 },
  async (bug) => {
    const { violations } = await simulate(10, { guards: bug });
    expect(violations.map((one) => one.kind)).toContain('unasked');
    expect((await simulate(10, { guards: 'heeded' })).violations).toEqual([]);
  },
);
