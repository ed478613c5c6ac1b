// test: evidence of rules from recorded segments, and what it lacks.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  daysReplayed,
  EVIDENCE_THRESHOLDS,
  earnedMode,
  lacksOf,
  type RuleEvidence,
} from '../../../src/domain/evidence.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { earnedWords, evidenceLine, viewOf } from '../../../src/faces/report/evidence-words.ts';
import {
  contentOf,
  coveredMs,
  dropOldEvidence,
  evidenceFolder,
  evidenceReader,
  gatherEvidence,
  keepEvidence,
} from '../../../src/history/evidence/evidence-files.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { DAY_MS, evidenceOf, NOW_MS, replayedRule, replayOf } from './figures.ts';

describe('Evidence of rules as files', () => {
  let dir: string;
  let folder: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'evidence-'));
    folder = evidenceFolder(join(dir, 'trustward.db'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const TEXT = `id: report-lost
subject: device
when: { "==": [{ var: Ownership }, "Other"] }
then: notify
MODE
tests:
  - { name: other, given: { Ownership: Other }, expect: match }
  - { name: kept, given: { Ownership: Employee Owned }, expect: no_match }
  - { name: unknown, given: { Ownership: null }, expect: unknown }
`;

  function ruleOf(mode = 'mode: dry-run', text = TEXT): LoadedRule {
    const parsed = parseRule(text.replace('MODE', mode), 'report-lost.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  function kept(rule: LoadedRule): void {
    const { content, ruleHashes } = contentOf(rule);
    keepEvidence(folder, { ...evidenceOf(), rule: rule.id, content }, ruleHashes);
  }

  const reader = () => evidenceReader(folder, EVIDENCE_THRESHOLDS);

  test('evidence is found by the hash of its rule, in every mode, and no other rule has it', () => {
    kept(ruleOf());
    for (const mode of ['', 'mode: off', 'mode: dry-run', 'mode: approve', 'mode: enforce'])
      expect(reader().of(ruleOf(mode).hash)?.rule).toBe('report-lost');
    expect(reader().of(ruleOf('mode: dry-run', TEXT.replaceAll(`Other"`, `UNKNOWN"`)).hash)).toBeUndefined();
  });

  test('a reader sees evidence that was kept after it was made, and none where no history is kept', () => {
    const early = reader();
    expect(evidenceLine(ruleOf(), early)).toBeUndefined();
    mkdirSync(dirname(folder));
    expect(evidenceLine(ruleOf(), early)).toBe('no evidence yet');
    kept(ruleOf());
    expect(evidenceLine(ruleOf(), early)).toMatch(/^evidence of \d{4}-\d\d-\d\d \d\d:\d\d UTC: 21 days/);
  });

  test('only its owner can read a file of evidence, and nothing else lies beside it', () => {
    kept(ruleOf());
    const [file, ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(statSync(join(folder, file as string)).mode & 0o777).toBe(0o600);
  });

  test('a damaged, foreign or newer file is no evidence', () => {
    kept(ruleOf());
    const file = join(folder, readdirSync(folder)[0] as string);
    const text = readFileSync(file, 'utf8');
    for (const bad of [
      '',
      '{',
      'null',
      text.replace('"version": 2', '"version": 3'),
      text.replace('"passed": 4', '"passed": -4'),
    ]) {
      writeFileSync(file, bad);
      expect(reader().of(ruleOf().hash)).toBeUndefined();
    }
    truncateSync(file, 0);
    chmodSync(folder, 0o700);
    expect(reader().of(ruleOf().hash)).toBeUndefined();
  });

  test('evidence that was not made again for half a year is dropped', () => {
    kept(ruleOf());
    dropOldEvidence(folder, NOW_MS + 100 * DAY_MS);
    expect(readdirSync(folder)).toHaveLength(1);
    dropOldEvidence(folder, NOW_MS + 200 * DAY_MS);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('evidence has the figures of the tests and of the replay of exactly this rule', async () => {
    const rule = ruleOf();
    const gap = { fromMs: NOW_MS - 2 * DAY_MS, toMs: NOW_MS - DAY_MS, cause: 'damaged' as const, text: 'a segment' };
    const replay = replayOf([replayedRule({ id: rule.id, hash: rule.hash, matches: 7 })], { gaps: [gap] });
    const time = { replay, subjects: { device: 40, user: 0, service: 0 } };
    const [evidence] = await gatherEvidence([rule], time, NOW_MS);
    expect(evidence?.tests).toMatchObject({ passed: 3, failed: 0, matching: 1, others: 2, coveredPercent: 100 });
    expect(evidence?.replayed).toMatchObject({
      matches: 7,
      subjects: 40,
      gaps: 1,
      coveredMs: 20 * DAY_MS,
      allowed: 25,
    });
    const [other] = await gatherEvidence([ruleOf('mode: approve')], time, NOW_MS);
    expect(other?.replayed).toBeUndefined();
  });

  test('a stretch that holds no run is no evidence of recorded time', async () => {
    const rule = ruleOf();
    const replay = replayOf([replayedRule({ id: rule.id, hash: rule.hash })], { runs: 0 });
    const [evidence] = await gatherEvidence([rule], { replay, subjects: { device: 0, user: 0, service: 0 } }, NOW_MS);
    expect(evidence?.replayed).toBeUndefined();
  });

  test('gaps that overlap, or reach beyond the stretch, are taken off once', () => {
    const gap = (fromMs: number, toMs: number) => ({ fromMs, toMs });
    expect(coveredMs(0, 100, [])).toBe(100);
    expect(coveredMs(0, 100, [gap(30, 60), gap(10, 40), gap(15, 20), gap(90, 150), gap(-50, 5)])).toBe(35);
  });
});

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

  test('it has the figures, when they were made, and the mode that is earned', () => {
    const madeAtMs = Date.UTC(2026, 10, 22, 19, 42, 7);
    expect(line('approve', { ...evidenceOf({}, { unknown: 0 }), madeAtMs })).toBe(
      'evidence of 2026-11-22 19:42 UTC: 21 days, 12 matches, at most 3 done in a run, 0 undone within the hour; enforce is earned',
    );
  });

  test('it has those that could not be judged beside those that matched', () => {
    expect(line('approve', evidenceOf({}, { matches: 0, unknown: 5 }))).toContain(
      '0 matches, at most 3 done in a run, 0 undone within the hour, 5 unknown; enforce is earned',
    );
  });

  test('runs beyond its limits are no contradiction to the most that was done in one: they were held', () => {
    expect(line('enforce', evidenceOf({}, { mostTargets: 26 }))).toMatch(
      /at most 3 done in a run, .* one would have taken 26 targets, and 25 were allowed in it/,
    );
  });

  test('it says what the next mode needs', () => {
    expect(line('dry-run', evidenceOf({ coveredPercent: 80 }))).toMatch(
      /; approve needs 100 % coverage of its conditions, 80 % so far$/,
    );
    expect(line('approve', evidenceOf({}, { flaps: 2 }))).toMatch(
      /2 undone within the hour, 1 unknown; approve is earned; enforce needs at most 0 undone within the hour, 2 found$/,
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
    expect(line('off', { ...evidenceOf(), replayed: undefined })).toMatch(
      /^evidence of \S+ \S+ UTC: 4 tests, nothing replayed; approve needs 7 days of history, 0 so far$/,
    );
  });
});
