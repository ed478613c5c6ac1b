import { expect, test } from 'vitest';
import { TallyBuckets } from '../../../src/history/replay/tally.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

function over(times: readonly number[]) {
  const buckets = new TallyBuckets();
  for (const atMs of times) {
    buckets.run(atMs);
    const counts = buckets.countsAt(atMs, 'r');
    counts.matches = Math.max(counts.matches, atMs === times[1] ? 7 : 2);
    counts.acts += 1;
  }
  return buckets.finish();
}

test.each([
  ['five minutes', 15_000, 5 * MINUTE_MS, MINUTE_MS],
  ['a day', 5 * MINUTE_MS, DAY_MS, 15 * MINUTE_MS],
  ['thirty days', 15 * MINUTE_MS, 30 * DAY_MS, 360 * MINUTE_MS],
  ['two years', DAY_MS, 730 * DAY_MS, 8 * DAY_MS],
])('%s of runs have stretches of a fitting length, which lose no run and no act', (_, everyMs, lastingMs, lengthMs) => {
  const times = Array.from({ length: lastingMs / everyMs }, (_one, n) => 10 * DAY_MS + n * everyMs);
  const buckets = over(times);
  expect(new Set(buckets.map(({ fromMs, toMs }) => toMs - fromMs))).toEqual(new Set([lengthMs]));
  expect(buckets.length).toBeLessThanOrEqual(181);
  expect(buckets.reduce((sum, { runs }) => sum + runs, 0)).toBe(times.length);
  expect(buckets.reduce((sum, { rules }) => sum + (rules.r?.acts ?? 0), 0)).toBe(times.length);
  expect(Math.max(...buckets.map(({ rules }) => rules.r?.matches ?? 0))).toBe(7);
});
