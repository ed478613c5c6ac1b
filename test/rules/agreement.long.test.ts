// test: a million random pairs of rule and complete record, with json-logic-js as the oracle. Run by its name alone.
import { expect, it } from 'vitest';
import { compareWithJsonLogic } from './agreement.ts';

it('rules and json-logic-js agree in a million pairs of rule and record', { timeout: 1_800_000 }, () => {
  let compared = 0;
  for (let seed = 1_000; compared < 1_000_000; seed++) compared += compareWithJsonLogic(seed, 50_000).compared;
  expect(compared).toBeGreaterThanOrEqual(1_000_000);
});
