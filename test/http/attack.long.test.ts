// http: the longer run: 10,000 requests of one organization at another. Not part of the normal run.
import { expect, it } from 'vitest';
import { attack } from './attacking.ts';

it('10,000 requests of one organization at another read, change and tell nothing', { timeout: 1_800_000 }, async () => {
  const { faults, requests } = await attack(10_000, 10_000);
  expect(faults).toEqual([]);
  expect(requests).toBeGreaterThan(10_000);
});
