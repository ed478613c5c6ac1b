// report: what people read of a replay: one sentence first, its limits plainly, hostile names harmless, in every format.
import { describe, expect, it } from 'vitest';
import { replayHtmlPieces } from '../../../../src/faces/report/html/picture.tsx';
import { replayDocument } from '../../../../src/faces/report/replay/build.ts';
import { replayCsv, replayMarkdown, replayText } from '../../../../src/faces/report/replay/words.ts';
import {
  DAY_MS,
  difference,
  FROM,
  HOSTILE,
  replay,
  replayedAct,
  replayedRule,
  wrongForty,
} from '../../../support/replays.ts';

const sentence = (...args: Parameters<typeof replayDocument>) => replayDocument(...args).sentence;
const html = (...args: Parameters<typeof replayDocument>) => [...replayHtmlPieces(replayDocument(...args))].join('');

describe('the sentence of a replay', () => {
  it('counts devices and people, names the most in one run, and the limit that was crossed', () => {
    expect(sentence(wrongForty())).toBe(
      'Would have banned 12 devices of 12 people and held 28 targets; at most 3 in one run, at 2026-10-29 00:00:00 UTC; rule ban-jailbroken had up to 28 targets at once, above its limit of 25.',
    );
  });

  it('has the same verbs for what was done as it was', () => {
    expect(sentence(wrongForty({ way: 'as_was' }))).toMatch(/^Banned 12 devices of 12 people and held 28 targets;/);
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
    expect(sentence(replay({ runs: 0, rules: [] }))).toBe('No run is recorded in this time, so nothing was replayed.');
    expect(sentence(replay())).toBe('Would have done nothing: nothing matched.');
    const rules = [replayedRule({ matches: 4 })];
    expect(sentence(replay({ rules }))).toBe('Would have done nothing: 4 subjects matched, and nothing followed.');
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
    expect(lines(asWas).slice(0, 2).join(' ')).toMatch(/replay as it was.* As it was: the rules that were active then/);
  });

  it.each([60, 80, 100, 160])('is no wider than %i columns', (width) => {
    const document = replayDocument(wrongForty({ differences: [difference()], way: 'as_was' }), 'new-rules');
    expect(lines(replayText(document, { width })).filter((line) => line.length > width)).toEqual([]);
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
