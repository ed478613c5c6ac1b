// harness: lives whose first rule warns people: crashes, a post that refuses, fails and loses answers, people and clocks that jump.
import { expect, it } from 'vitest';
import { simulate } from './simulation.ts';

/** Also those that showed faults: a clock that was ahead, a ceiling, and what is so already, in a plan that waits for deadlines. */
const SEEDS = [...Array.from({ length: 10 }, (_, at) => at + 10), 45, 95, 163, 240, 383];

it('nobody is acted on before the deadline that they were told of, nobody is told twice, and nothing is lost', {
  timeout: 240_000,
}, async () => {
  let [told, crashes] = [0, 0];
  for (const seed of SEEDS) {
    const result = await simulate(seed, { notices: 'heeded' });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    told += result.told;
    crashes += result.crashes;
  }
  expect(told).toBeGreaterThan(50);
  expect(crashes).toBeGreaterThan(50);
});

it('an engine that acts before the deadline is found', { timeout: 240_000 }, async () => {
  const kinds = new Set<string>();
  for (let seed = SEEDS[0] as number; seed < 100 && !kinds.has('before_deadline'); seed += 1) {
    const { violations } = await simulate(seed, { notices: 'ignored' });
    for (const { kind } of violations) kinds.add(kind);
  }
  expect(kinds).toContain('before_deadline');
});
