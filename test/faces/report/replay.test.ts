// report: what people read of a replay and of two rule sets compared: one sentence first, bounded, hostile names harmless, in every format.
import { describe, expect, it } from 'vitest';
import type { DifferingSubject, RuleDifference, RuleSetDifference } from '../../../src/domain/replay.ts';
import { replayHtmlPieces } from '../../../src/faces/report/html/picture.tsx';
import { replayDocument } from '../../../src/faces/report/replay/build.ts';
import { replayCsv } from '../../../src/faces/report/replay/sections.ts';
import { rulesDiffDocument } from '../../../src/faces/report/rules-diff/sections.ts';
import { replayMarkdown, replayText, rulesDiffMarkdown, rulesDiffText } from '../../support/readable.ts';
import {
  DAY_MS,
  difference,
  FROM,
  HOSTILE,
  replay,
  replayedAct,
  replayedRule,
  wrongForty,
} from '../../support/replays.ts';
import { notSaid } from '../../support/words.ts';

describe('A replay', () => {
  const sentence = (...args: Parameters<typeof replayDocument>) => replayDocument(...args).sentence;
  const html = (...args: Parameters<typeof replayDocument>) => [...replayHtmlPieces(replayDocument(...args))].join('');

  describe('the sentence of a replay', () => {
    it('counts devices and people, names the most in one run, and the limit that was crossed', () => {
      expect(notSaid(replayText(replayDocument(wrongForty(), 'new-rules')))).toEqual([]);
      expect(sentence(wrongForty())).toBe(
        'Would have banned 12 devices of 12 people and kept 28 targets waiting; at most 3 in one run, at 2026-10-29 00:00:00 UTC; rule ban-jailbroken had 28 targets at once, above its limit of 25.',
      );
    });

    it('has the same verbs for what was done as it was', () => {
      expect(sentence(wrongForty({ way: 'as_was' }))).toMatch(
        /^Banned 12 devices of 12 people and kept 28 targets waiting;/,
      );
    });

    it('counts a device once, however often it was acted on', () => {
      const acts = [replayedAct(), replayedAct({ atMs: FROM + 9 * DAY_MS }), replayedAct({ undo: true })];
      expect(sentence(replay({ acts }))).toBe('Would have banned 1 device of 1 person (2 times in all).');
    });

    it.each([
      ['disable_service', { kind: 'service', id: 's' }, 'Would have disabled 1 service.'],
      ['delete_device', { kind: 'device', id: 'd' }, 'Would have deleted 1 device of 1 person.'],
      ['notify', { kind: 'user', id: 'ana@example.com' }, 'Would have notified 1 person.'],
      ['add_to_bundle', { kind: 'service', id: 's' }, 'Would have added to bundle for 1 service.'],
    ] as const)('names what %s does', (action, subject, expected) => {
      expect(sentence(replay({ acts: [replayedAct({ action, subject })] }))).toBe(expected);
    });

    it('never takes an empty record for a rule that matches nobody', () => {
      expect(sentence(replay({ runs: 0, rules: [] }))).toBe(
        'No run is recorded in this time, so nothing was replayed.',
      );
      expect(sentence(replay())).toBe('Would have done nothing: nothing matched.');
      const rules = [replayedRule({ matches: 4 })];
      expect(sentence(replay({ rules }))).toBe('Would have done nothing: 4 subjects matched, but no action followed.');
    });
  });

  describe('a replay that decides at most one run in a time', () => {
    const text = (changes: Parameters<typeof replay>[0]) => replayText(replayDocument(replay(changes)));

    it('has how many runs it decided, and compares no others', () => {
      const some = text({ way: 'as_was', runs: 120, wholeRuns: 120, decidedRuns: 40, everyMs: DAY_MS / 8 });
      expect(some.replaceAll('\n', ' ')).toContain('It decided 40 of them: the first whole run of each 3h.');
      expect(some.replaceAll('\n', ' ')).toContain('Every decision of those is as the run made it.');
    });

    it('notes that a time shorter than the distance of the runs left out none', () => {
      const all = text({ runs: 24, wholeRuns: 24, decidedRuns: 24, everyMs: 300_000 });
      expect(all.replaceAll('\n', ' ')).toContain('It decided each of them: no two began in the same 5m.');
    });
  });

  describe('the text of a replay', () => {
    const lines = (text: string) => text.split('\n');

    it('names its way in the first line, and says what that means', () => {
      expect(lines(replayText(replayDocument(wrongForty(), 'new-rules')))[0]).toMatch(
        /^Trustward: replay what if, 2026-10-24/,
      );
      expect(replayText(replayDocument(wrongForty(), 'new-rules'))).toContain('the rules in `new-rules`');
      const asWas = replayText(replayDocument(wrongForty({ way: 'as_was' })));
      expect(lines(asWas).slice(0, 2).join(' ')).toMatch(
        /replay as it was.* As it was: the rules that were active then/,
      );
    });

    it.each([60, 80, 100, 160])('is no wider than %i columns', (width) => {
      const document = replayDocument(wrongForty({ differences: [difference()], way: 'as_was' }), 'new-rules');
      expect(lines(replayText(document, { width })).filter((line) => line.length > width)).toEqual([]);
    });

    it('has what warnings would have avoided beside what the record shows, where a rule warns', () => {
      const notice = { warned: 43, mended: 40, acted: 3, avoided: 1, undelivered: 2 };
      const rules = [replayedRule({ acts: 3, notice })];
      const text = replayText(replayDocument(replay({ rules, acts: [replayedAct({ isAvoided: true })] })), {
        width: 80,
      });
      expect(text).toMatch(
        /Avoided by warning +1 of 3, as assumed.*\n.* 40 of 43 over in time, by the record.*\n.* 2 not delivered/,
      );
      expect(text).toMatch(/avoided by the +│\n.*warning, as/);
      expect(text.replaceAll('\n', ' ')).toContain(
        'warned of 43 matches: 40 were over before the deadline by the record, and 1 of 3 actions would have been avoided by what is assumed. Of 2 targets somebody could not be warned, so a person decides.',
      );
      expect(replayText(replayDocument(wrongForty()))).not.toContain('warning');
    });

    it('is bounded, and says where the rest is', () => {
      const acts = Array.from({ length: 5_000 }, (_, n) => replayedAct({ target: `S-${n}` }));
      const text = replayText(replayDocument(replay({ acts })));
      expect(lines(text).length).toBeLessThan(300);
      expect(text).toContain('and 4,950 more: the JSON form has them all');
    });

    it('names each gap and how much of the time is missing', () => {
      const text = replayText(replayDocument(wrongForty()));
      expect(text).toContain('1 gap, 2 days of 30 days');
      expect(text).toContain('2026-11-03/10.parquet');
    });

    it('says that decisions are equal only where they were compared', () => {
      const equal = 'Every decision is as the runs made it.';
      expect(replayText(replayDocument(wrongForty({ way: 'as_was' })))).toContain(equal);
      expect(replayText(replayDocument(wrongForty()))).not.toContain(equal);
      expect(replayText(replayDocument(replay({ way: 'as_was', runs: 0 })))).not.toContain(equal);
      const differences = [difference(), difference({ isExplained: false })];
      const text = replayText(replayDocument(wrongForty({ way: 'as_was', differences })), { width: 400 });
      expect(text).toContain('2 decisions differ from what the runs decided. Nothing in the record explains 1 of them');
      expect(text.indexOf('UNEXPLAINED')).toBeLessThan(text.indexOf('the gap before this run'));
    });

    it('names facts that were never recorded', () => {
      const neverRecorded = [{ path: 'MdmData.Nope', rules: ['ban-jailbroken'] }];
      expect(replayText(replayDocument(replay({ neverRecorded })), { width: 400 })).toContain(
        'NEVER RECORDED, so unknown all the time: MdmData.Nope (rule ban-jailbroken).',
      );
    });
  });

  describe('a hostile name', () => {
    it('has no hidden character, no formula and no element in any format', () => {
      const document = replayDocument(wrongForty(), HOSTILE);
      const all = [replayText(document), replayMarkdown(document), replayCsv(document), html(wrongForty(), HOSTILE)];
      for (const text of all) expect(text).not.toContain('\u202e');
      expect(replayMarkdown(document)).not.toContain('<script');
      expect(html(wrongForty(), HOSTILE).match(/<script/g)).toHaveLength(1);
      expect(replayCsv(document)).toContain(`"'=cmd`);
    });
  });

  describe('the picture of a replay', () => {
    it('has a text alternative with the figures, and its numbers as a table', () => {
      const page = html(wrongForty());
      expect(page).toMatch(
        /role="img" aria-label="Rule ban-jailbroken from [^"]*: 0 to 28 matches; 12 actions, 11 undos; 25 are allowed in a run; 1 gap/,
      );
      expect(page).toContain('Matches, actions and undos of rule ban-jailbroken over time');
    });

    it('breaks its line where no run is recorded', () => {
      const line = /<path class="matches" d="(M[^"]*)"/.exec(
        html(wrongForty()).split('<div class="picture-top')[1] ?? '',
      )?.[1];
      expect(line?.match(/M/g)).toHaveLength(2);
    });

    it('has no style of its own, which the policy of the file would refuse', () => {
      expect(html(wrongForty())).not.toMatch(/ style=/);
    });
  });
});

describe('Two rule sets compared', () => {
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
        'As of 2026-11-23 00:00:00 UTC nobody would be added and 38 subjects would go; over the recorded time 2 subjects would be added and 38 subjects would go.',
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
});
