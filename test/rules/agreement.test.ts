// test: on complete data the rule language and json-logic-js agree. A few thousand pairs; agreement.long.test.ts has more.
import { describe, expect, it } from 'vitest';
import { compareWithJsonLogic } from './agreement.ts';

describe('on complete data', () => {
  it.each([1, 2, 3])('a rule and json-logic-js agree (seed %i)', (seed) => {
    const { compared, matches, refused } = compareWithJsonLogic(seed, 3_000);
    expect(compared).toBeGreaterThanOrEqual(3_000);
    // The comparison must not be idle: both answers, and few rules refused.
    expect(matches).toBeGreaterThan(compared / 10);
    expect(compared - matches).toBeGreaterThan(compared / 10);
    expect(refused * 20).toBeLessThan(compared);
  });
});
