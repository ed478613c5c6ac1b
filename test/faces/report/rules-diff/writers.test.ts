// report: what people read of two rule sets compared: who is added and who goes, bounded, hostile names harmless.
import { describe, expect, it } from 'vitest';
import type { DifferingSubject, RuleDifference, RuleSetDifference } from '../../../../src/domain/replay.ts';
import {
  rulesDiffDocument,
  rulesDiffMarkdown,
  rulesDiffText,
} from '../../../../src/faces/report/rules-diff/markdown.ts';
import { DAY_MS, FROM, HOSTILE, replayedRule } from '../../../support/replays.ts';

const SETS = { old: 'rules', new: 'new-rules' };

const subject = (n: number): DifferingSubject => ({
  rule: 'ban-jailbroken',
  subject: { kind: 'device', id: `d-${n}` },
  subjectName: n === 0 ? HOSTILE : `Phone ${n}`,
  owners: [`person${n}@example.com`],
  atMs: FROM + n * 60_000,
});

const some = (total: number) => ({ total, first: Array.from({ length: Math.min(total, 50) }, (_, n) => subject(n)) });

const rule = (id = 'ban-jailbroken', gone = 38): RuleDifference => ({
  id,
  title: 'A jailbroken device',
  change: 'changed',
  now: { old: { matches: 40, unknown: 3 }, new: { matches: 2, unknown: 3 }, added: some(0), gone: some(gone) },
  overTime: {
    old: replayedRule({ acts: 0, mostTargets: 40 }),
    new: replayedRule({ acts: 2, mostInRun: 1 }),
    added: some(2),
    gone: some(gone),
  },
});

const found = (over: Partial<RuleSetDifference> = {}): RuleSetDifference => ({
  nowAtMs: FROM + 30 * DAY_MS,
  fromMs: FROM,
  toMs: FROM + 30 * DAY_MS,
  askedFromMs: FROM,
  runs: 8_640,
  gaps: [],
  unread: [],
  rules: [rule()],
  all: { now: { added: 0, gone: 38 }, overTime: { added: 2, gone: 38 } },
  untrusted: [],
  notes: [],
  neverRecorded: [],
  ...over,
});

describe('a comparison of two rule sets', () => {
  it('says first who would be added and who would go, now and over the recorded time', () => {
    expect(rulesDiffDocument(found(), SETS).sentence).toBe(
      'Now nobody would be added and 38 subjects would go; over the recorded time 2 subjects would be added and 38 subjects would go.',
    );
  });

  it('says why the figures by rule add up to more than its own', () => {
    const rules = [rule(), rule('ban-rooted', 2)];
    expect(rulesDiffDocument(found({ rules }), SETS).sentence).toMatch(
      /38 subjects would go\. A subject is counted once, .*the figures by rule may add up to more\.$/,
    );
  });

  it('never calls two sets equal when nothing is recorded', () => {
    const nothing = found({ nowAtMs: undefined, runs: 0, rules: [] });
    expect(rulesDiffDocument(nothing, SETS).sentence).toBe(
      'Nothing is recorded, so only the texts of the rules were compared.',
    );
    expect(rulesDiffDocument(found({ rules: [] }), SETS).sentence).toBe('The two rule sets do the same.');
  });

  it('names who differs in text, up to a number', () => {
    const text = rulesDiffText(rulesDiffDocument(found(), SETS), { width: 100 });
    expect(text).toContain('Rule ban-jailbroken: gone now (38)');
    expect(text).toContain('Phone 1, person1@example.com (d-1)');
    expect(text).toContain('and 18 more');
    expect(text).not.toContain('\u202e');
  });

  it('is short enough for a comment on a pull request, whatever it found', () => {
    const rules = Array.from({ length: 300 }, (_, n) => rule(`rule-${n}-${'x'.repeat(60)}`, 5_000));
    const text = rulesDiffMarkdown(rulesDiffDocument(found({ rules }), { old: 'x'.repeat(9_000), new: HOSTILE }));
    expect(text.length).toBeLessThan(65_000);
    expect(text).not.toContain('<script');
    expect(text).toMatch(/and [\d,]+ more lists: `--format json` has them all/);
  });

  it('folds its lists in Markdown, each open and closed', () => {
    const text = rulesDiffMarkdown(rulesDiffDocument(found(), SETS));
    expect(text.match(/<details>/g)).toHaveLength(3);
    expect(text.match(/<\/details>/g)).toHaveLength(3);
  });
});
