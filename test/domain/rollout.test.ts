// test: the share of a rollout, its steps over time, and the number at which it stops.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeAmong } from '../../src/domain/digest.ts';
import {
  ALL,
  beginning,
  passed,
  paused,
  type Rollout,
  rolloutFacts,
  stepOfText,
  stepText,
  whyBraked,
} from '../../src/domain/rollout.ts';

const HOUR = 3_600_000;
const ROLLOUT: Rollout = {
  steps: [100, 1_000, ALL],
  eachMs: 24 * HOUR,
  brake: { reversed: 2, exempted: 3 },
  meaning: 'm',
};

const steady = (nowMs: number) => ({ nowMs, sinceMs: 0, forMs: nowMs, jumpedMs: 0, setBackMs: 0 });
const placeOf = (rule: string, id: string) => placeAmong(ALL, rule, id);
const isAmong = (steps: readonly number[], step: number, id: string) => {
  const rule = { id: 'ban', rollout: { ...ROLLOUT, steps } };
  return rolloutFacts(rule, { ...beginning('ban', ROLLOUT, 0), step }, placeOf('ban', id))?.isAmong;
};

describe('the share of a rollout', () => {
  it('is stable, grows with each step and never loses anybody, and is everybody at the end', () => {
    const steps = fc.uniqueArray(fc.integer({ min: 1, max: ALL - 1 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(steps, fc.uuid(), (some, id) => {
        const all = [...some.toSorted((a, b) => a - b), ALL];
        const among = all.map((_, step) => isAmong(all, step, id));
        expect(among).toEqual(among.toSorted((a, b) => Number(a) - Number(b)));
        expect(among.at(-1)).toBe(true);
        expect(isAmong(all, 0, id.toUpperCase())).toBe(among[0]);
      }),
    );
  });

  it('is near the percentage, and another one for each rule', () => {
    const ids = Array.from({ length: 20_000 }, (_, number) => `device-${number}`);
    for (const share of [100, 1_000, 5_000]) {
      const among = ids.filter((id) => placeOf('ban', id) < share).length;
      const expected = (ids.length * share) / ALL;
      expect(Math.abs(among - expected)).toBeLessThan(5 * Math.sqrt(expected));
    }
    const both = ids.filter((id) => placeOf('ban', id) < 1_000 && placeOf('other', id) < 1_000).length;
    expect(both).toBeLessThan(ids.length * 0.02);
  });
});

describe('a step of a rollout', () => {
  it('lasts for the time in which the rule could act; a run begins at most one, and the last one lasts', () => {
    let state = beginning('ban', ROLLOUT, 0);
    const at = (hours: number) => {
      state = passed(ROLLOUT, state, steady(hours * HOUR));
      return state.step;
    };
    expect([at(12), at(23), at(24)]).toEqual([0, 0, 1]);
    state = paused(state);
    expect(at(60)).toBe(1);
    expect([at(83), at(84), at(200)]).toEqual([1, 2, 2]);
    expect(state.countedAt).toBeUndefined();
    expect(passed(ROLLOUT, state, steady(300 * HOUR))).toBe(state);
  });

  it('does not pass while no run took place for more than a day, nor backwards with the clock', () => {
    const state = beginning('ban', ROLLOUT, 0);
    expect(passed(ROLLOUT, state, steady(25 * HOUR))).toMatchObject({ step: 0, passedMs: 0, countedAt: 25 * HOUR });
    const later = { ...state, countedAt: 50 * HOUR };
    expect(passed(ROLLOUT, later, { ...steady(40 * HOUR), jumpedMs: 40 * HOUR, forMs: 0 })).toMatchObject({
      step: 0,
      passedMs: 0,
    });
  });

  it('of a rule that has fewer steps now is its last one', () => {
    const state = { ...beginning('ban', ROLLOUT, 0), step: 2 };
    expect(stepText({ ...ROLLOUT, steps: [100, ALL] }, state)).toBe('step 2 of 2 (100 %)');
  });

  it('is named with the time until which it lasts at least, and the same whatever that time is', () => {
    const state = beginning('ban', ROLLOUT, 0);
    const text = stepText(ROLLOUT, state);
    expect(text).toBe('step 1 of 3 (1 %), until 1970-01-02 00:00:00 UTC at the earliest');
    expect(stepText(ROLLOUT, paused(state))).toBe(stepOfText(text));
  });
});

it('a rollout stops at either number, and names it', () => {
  expect(whyBraked(ROLLOUT, { reversed: ['a'], exempted: ['b', 'c'] })).toBeUndefined();
  expect(whyBraked(ROLLOUT, { reversed: ['a', 'b'], exempted: [] })).toBe('people reversed 2 of what it did');
  expect(whyBraked(ROLLOUT, { reversed: ['a', 'b'], exempted: ['c', 'd', 'e'] })).toBe(
    'people reversed 2 of what it did and people exempted 3 of those it acted on',
  );
});
