import { describe, expect, test } from 'vitest';
import {
  daysReplayed,
  EVIDENCE_THRESHOLDS,
  earnedMode,
  lacksOf,
  type RuleEvidence,
} from '../../../src/domain/evidence.ts';
import { earnedWords, viewOf } from '../../../src/faces/report/evidence-words.ts';
import { DAY_MS, evidenceOf } from './figures.ts';

const lacks = (evidence: RuleEvidence) => lacksOf(evidence, EVIDENCE_THRESHOLDS);
const codes = (evidence: RuleEvidence) => ({
  approve: lacks(evidence).approve.map(({ code }) => code),
  enforce: lacks(evidence).enforce.map(({ code }) => code),
});

describe('what a rule lacks for a mode', () => {
  test('a rule that meets every threshold has earned enforce', () => {
    expect(codes(evidenceOf())).toEqual({ approve: [], enforce: [] });
    expect(earnedMode(lacks(evidenceOf()))).toBe('enforce');
  });

  test.each([
    ['no_tests', { passed: 0, matching: 0, others: 0 }],
    ['tests_failed', { failed: 1 }],
    ['one_side', { matching: 0, others: 4 }],
    ['one_side', { matching: 4, others: 0 }],
    ['coverage', { coveredPercent: 99 }],
    ['mutants', { mutants: { tried: 9, survived: 1 } }],
  ])('%s is missing for both modes', (code, tests) => {
    expect(codes(evidenceOf(tests))).toEqual({ approve: [code], enforce: [code] });
    expect(earnedMode(lacks(evidenceOf(tests)))).toBe('dry-run');
  });

  test.each([
    ['limits', { mostTargets: 26 }, { mostTargets: 25 }],
    ['flaps', { flaps: 1 }, { flaps: 0 }],
    ['unknown', { unknown: 6 }, { unknown: 5 }],
  ])('%s is missing for enforce alone, from just over its threshold on', (code, over, within) => {
    expect(codes(evidenceOf({}, over))).toEqual({ approve: [], enforce: [code] });
    expect(codes(evidenceOf({}, within))).toEqual({ approve: [], enforce: [] });
  });

  test('each mode needs its own number of whole days', () => {
    const covered = (ms: number) => codes(evidenceOf({}, { coveredMs: ms }));
    expect(covered(7 * DAY_MS - 1)).toEqual({ approve: ['days'], enforce: ['days'] });
    expect(covered(7 * DAY_MS)).toEqual({ approve: [], enforce: ['days'] });
    expect(covered(14 * DAY_MS)).toEqual({ approve: [], enforce: [] });
    expect(daysReplayed({ coveredMs: 14 * DAY_MS - 1 })).toBe(13);
  });

  test('a rule without recorded time has earned neither mode, and only recorded time is missing', () => {
    const { approve, enforce } = lacks({ ...evidenceOf(), replayed: undefined });
    expect([...approve, ...enforce].every(({ needsHistory, code }) => needsHistory && code === 'days')).toBe(true);
    expect(approve).toHaveLength(1);
  });

  test('recorded time in which no run listed a subject of the rule earns neither mode', () => {
    expect(codes(evidenceOf({}, { unknown: 0, subjects: 0 }))).toEqual({
      approve: ['subjects'],
      enforce: ['subjects'],
    });
  });

  test('subjects that cannot be judged count in full where no list shows how many there are', () => {
    expect(codes(evidenceOf({}, { unknown: 1, subjects: 0 })).enforce).toContain('unknown');
  });
});

describe('the line beside a rule', () => {
  const line = (mode: 'dry-run' | 'approve' | 'enforce' | 'off', evidence: RuleEvidence) =>
    viewOf(mode, evidence, lacks(evidence)).text;

  test('it has the figures and the mode that is earned', () => {
    expect(line('approve', evidenceOf({}, { unknown: 0 }))).toBe(
      'evidence: 21 days, 12 matches, at most 3 in a run, 0 undone within the hour; enforce is earned',
    );
  });

  test('it has those that could not be judged beside those that matched', () => {
    expect(line('approve', evidenceOf({}, { matches: 0, unknown: 5 }))).toContain(
      '0 matches, at most 3 in a run, 0 undone within the hour, 5 unknown; enforce is earned',
    );
  });

  test('it says what the next mode needs', () => {
    expect(line('dry-run', evidenceOf({ coveredPercent: 80 }))).toMatch(
      /; approve needs 100 % coverage of its conditions, 80 % now$/,
    );
    expect(line('approve', evidenceOf({}, { flaps: 2 }))).toMatch(
      /2 undone within the hour, 1 unknown; approve is earned; enforce needs at most 0 undone within the hour, 2 now$/,
    );
  });

  test('a mode that the rule has and has not earned comes first', () => {
    expect(line('enforce', evidenceOf({}, { flaps: 2 }))).toContain('its mode enforce is not earned: it needs');
  });

  test('it stays short, however much is missing', () => {
    const nothing = lacks(
      evidenceOf({ failed: 2, matching: 0, coveredPercent: 0, mutants: { tried: 9, survived: 9 } }),
    );
    expect(earnedWords('off', nothing)).toContain('; 2 more');
  });

  test('a rule without recorded time shows its tests, and that nothing was replayed', () => {
    expect(line('off', { ...evidenceOf(), replayed: undefined })).toBe(
      'evidence: 4 tests, nothing replayed; approve needs 7 days of history, 0 so far',
    );
  });
});
