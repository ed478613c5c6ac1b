// The pages of the rules and of replays: what is loaded, what one rule did, trying a change of it, and what was changed, line by line.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { AskedReplay, ReplayBeside } from '../../../src/domain/replay.ts';
import type { RuleTally } from '../../../src/domain/verdict.ts';
import type { HttpDeps } from '../../../src/faces/http/deps.ts';
import { replayDocument } from '../../../src/faces/report/replay/build.ts';
import { diffLines } from '../../../src/faces/web/pages/try.tsx';
import { addLiveRun, addRun, decision, fakeClock, START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { replayedAct, wrongForty } from '../../support/replays.ts';
import { RULE, RULE_REPORT, RULE_TEXT, TRIED } from '../../support/rule-samples.ts';

const HOSTILE = '<script>alert(1)</script>\u202eevil\nname';

function tallied(over: Partial<RuleTally> = {}) {
  const counts = { match: 3, no_match: 90, unknown: 7, error: 0, missing: {}, examples: [], ...over };
  return { rule: RULE.id, ...counts, mode: RULE.mode, hash: RULE.hash, title: RULE.title, judged: true };
}

describe('the list of rules', () => {
  it('shows what each rule does, matches and has in force, and how its own tests ended', async () => {
    const { get, store } = openPages();
    await addLiveRun(store);
    await addRun(store, { id: 'run2', tallies: [tallied()], startedAt: START_MS + 60_000 });
    const { status, text, html } = await get('/rules');
    expect(status).toBe(200);
    expect(text).toContain('1 rule is loaded');
    expect(text).toMatch(
      /Ban devices that MDM reports as compromised ban-compromised-device critical device ban_device/,
    );
    expect(text).toContain('enforce 3 7 unknown');
    expect(text).toContain('Matches are those of run 2 ,');
    expect(html).toContain('aria-label="matches: last 3;');
    expect(html).toContain('title="2026-11-21 09:01:00 UTC"');
    expect(text).toContain('1 of 2 failed');
    expect(html).toContain('href="/rules/ban-compromised-device"');
  });

  it('shows the mode in force where the daemon lowers the mode of a rule', async () => {
    const { get } = openPages({ daemonMode: () => 'dry-run' });
    expect((await get('/rules')).text).toContain('enforce in force: dry-run');
  });

  it('shows the guards in force, and shows no markup of theirs', async () => {
    const selector = { kind: 'user' as const, field: 'Groups', value: '<b>Board</b>' };
    const guards = { ask: [{ selector, reason: undefined }], lastDevice: true, perDay: 2 };
    const { get } = openPages({ rules: () => [{ ...RULE, guards }] });
    const { text, html } = await get('/rules');
    expect(text).toContain('always asks a person about Groups = <b>Board</b>');
    expect(text).toContain('asks before it takes more than 2 devices of a person within 24 hours');
    expect(html).not.toContain('<b>Board</b>');
  });

  it('lists each problem of a refused folder, to those who are signed in', async () => {
    const { get } = openPages({ ruleRefusal: () => ['a.yaml:3:7: no field <b>x</b>', 'b.yaml:1:1: broken'] });
    const { text, html } = await get('/rules', 'read');
    expect(text).toContain('The rules folder was refused: 2 problems');
    expect(text).toContain('a.yaml:3:7: no field <b>x</b>');
    expect(html).not.toContain('<b>x</b>');
    expect((await get('/rules', 'none')).status).toBe(303);
  });

  it('does not wait for tests that take long', async () => {
    const { get } = openPages({ ruleDetail: () => new Promise(() => {}) });
    expect((await get('/rules')).text).toContain('still running');
  });
});

describe('the page of a rule', () => {
  it('shows settings in words, tests with gaps, and the text with line numbers', async () => {
    const { get } = openPages();
    const { status, text, html } = await get(`/rules/${RULE.id}`);
    expect(status).toBe(200);
    expect(text).toContain('it acts by itself, within limits and ceilings');
    expect(text).toContain('cooldown at least 1h between two attempts on one target');
    expect(text).toContain(
      'limits 25 targets at once, and 2 % of the subjects; twice that within 24 hours; more holds the whole rule',
    );
    expect(text).toContain('watch between two runs, it judges the subjects that new events name');
    expect(text).toContain('1 test passed, 1 failed');
    expect(text).toContain('expected match, got no_match');
    expect(text).toContain('MdmData.CompromisedStatus == "TRUE" unknown');
    expect(text).toContain('4 small changes of the condition were tried: TRUE → FALSE');
    expect(text).toContain('1 id: ban-compromised-device 2 # <why>');
    expect(html).not.toContain('<why>');
    expect(html).toContain('id="L2"');
  });

  it('shows who it matches in the last run that judged it, and the matches of each run', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'run1', tallies: [tallied({ match: 1 })] });
    const hostile = decision({ subjectName: HOSTILE, reasonText: HOSTILE, facts: { Name: HOSTILE } });
    await addRun(store, { id: 'run2', decisions: [hostile], tallies: [tallied()], startedAt: START_MS + 60_000 });
    await addRun(store, { id: 'run3', decisions: [], startedAt: START_MS + 120_000 });
    const { text, html } = await get(`/rules/${RULE.id}`);
    expect(text).toContain('1 decision as of run 2');
    expect(text).toContain('match as of run 2');
    expect(text).toContain('<script>alert(1)</script>⟨U+202E⟩evil⟨U+000A⟩name');
    expect(html).not.toContain('<script>alert');
    expect(html).toMatch(/<svg class="curve accent"[^>]* aria-label="Matches: last 3; 1 to 3 since/);
    expect(html).toMatch(/<svg class="curve wait"[^>]* aria-label="Unknown: last 7/);
    expect(html).toMatch(/<th scope="col" class="number">Match<\/th>/);
    expect(html).toContain('href="/subjects/device/device-1"');
  });

  it('pages the decisions that it led to, also those that are over', async () => {
    const { get, store } = openPages();
    const decisions = Array.from({ length: 60 }, (_, at) =>
      decision({ id: `decision-${at}`, subject: { kind: 'device', id: `device-${at}` }, target: `SERIAL-${at}` }),
    );
    await addRun(store, { decisions });
    const first = await get(`/rules/${RULE.id}/decisions`);
    expect(first.html.match(/<tr data-row/g)).toHaveLength(50);
    const next = /href="([^"]*before=[^"]*)"/.exec(first.html)?.[1] as string;
    expect((await get(next)).html.match(/<tr data-row/g)).toHaveLength(10);
    const now = await get(`/rules/${RULE.id}`);
    expect(now.text).toContain('60 decisions as of run 1');
    const more = /href="([^"]*after=[^"#]*)#now"/.exec(now.html)?.[1] as string;
    expect((await get(more)).html.match(/href="\/subjects\/device\//g)).toHaveLength(10);
  });

  it('leads from a rule that is not loaded any more to what it did', async () => {
    const { get, store } = openPages();
    await addRun(store, { decisions: [decision({ rule: 'gone' })] });
    const { status, text, html } = await get('/rules/gone');
    expect(status).toBe(200);
    expect(text).toContain('This rule is not loaded');
    expect(html).toContain('href="/rules/gone/decisions"');
    expect((await get('/rules/never')).status).toBe(404);
  });

  it('offers a reader no change', async () => {
    const { get } = openPages();
    expect((await get(`/rules/${RULE.id}`, 'read')).html).not.toContain('/try');
    expect((await get(`/rules/${RULE.id}/try`, 'read')).status).toBe(403);
  });

  it('shows a hostile rule as text', async () => {
    const rule = { ...RULE, title: HOSTILE, then: [{ action: 'ban_device' as const, with: { note: HOSTILE } }] };
    const report = { ...RULE_REPORT, problems: [HOSTILE], mutants: { tried: 1, survivors: [HOSTILE] } };
    const text = `${RULE_TEXT}${HOSTILE}\n${'x'.repeat(20_000)}`;
    const { get } = openPages({ rules: () => [rule], ruleDetail: async () => ({ rule, text, report }) });
    for (const path of ['/rules', `/rules/${RULE.id}`, `/rules/${RULE.id}/try`]) {
      const { status, html } = await get(path);
      expect(status).toBe(200);
      expect(html).not.toContain('<script>alert');
    }
  });
});

const PATH = `/rules/${RULE.id}/try`;
const CHANGED = `${RULE_TEXT}limits: { max: 50 } # </textarea><b>\n`;

/** What a browser has in the box. */
function boxOf(html: string): string {
  const inside = /<textarea[^>]*>([\s\S]*?)<\/textarea>/.exec(html)?.[1] as string;
  return inside
    .replace(/^\n/, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');
}

const refusing = (error: AppError): Partial<HttpDeps> => ({ tryRule: () => Promise.reject(error) });

describe('trying a change of a rule', () => {
  it('begins with the text as it is loaded', async () => {
    const { get } = openPages();
    const { html, text } = await get(PATH);
    expect(boxOf(html)).toBe(RULE_TEXT);
    expect(text).toContain('Nothing is sent, and nothing is kept');
  });

  it('keeps empty lines at the beginning of a text', async () => {
    const { get } = openPages({ ruleDetail: async () => ({ rule: RULE, text: '\n\nid: x\n', report: RULE_REPORT }) });
    expect(boxOf((await get(PATH)).html)).toBe('\n\nid: x\n');
  });

  it('shows who is added and who goes, what would be decided and why, and what is unknown', async () => {
    const { post } = openPages();
    const { status, text, html } = await post(PATH, { text: CHANGED });
    expect(status).toBe(200);
    expect(text).toContain('The changed rule matches 2 devices: 1 added, 0 gone, 1 the same.');
    expect(text).toContain('Nothing was sent, and nothing of this is kept');
    expect(text).toContain('Added: 1');
    expect(text).toContain('<b>Ben</b> serial SERIAL-2 device-2 hold ban_device on SERIAL-2 2 of 2 devices');
    expect(text).toContain('MdmData.CompromisedStatus = "TRUE"');
    expect(text).toContain('Gone: 0 Nobody goes.');
    expect(text).toContain('Missing fact Subjects MdmData.CompromisedStatus 3');
    expect(text).toContain('Matches 1 2 +1');
    expect(text).toContain('Limits 25 targets at once, and 2 % of the subjects');
    expect(html).not.toContain('<b>Ben');
  });

  it('tries the text with the ends of lines of the file, in the name of who is signed in', async () => {
    const { post, trials } = openPages();
    await post(PATH, { text: CHANGED.replaceAll('\n', '\r\n') }, 'trigger');
    expect(trials).toEqual([{ id: RULE.id, text: CHANGED, by: 'triggerer' }]);
  });

  it('shows what was changed in the text', async () => {
    const { post } = openPages();
    const { text, html } = await post(PATH, { text: CHANGED });
    expect(text).toContain('@@ -1,2 +1,3 @@');
    expect(text).toContain('+ limits: { max: 50 } # </textarea><b>');
    expect(boxOf(html)).toBe(CHANGED);
  });

  it('shows a mistake below its line, and keeps the text', async () => {
    const message = `${RULE.file}:2:5: no field \`<i>x</i>\`: did you mean \`y\`?\n${RULE.file}:3:1: unknown key`;
    const { post } = openPages(refusing(new AppError('rules', message)));
    const { status, text, html } = await post(PATH, { text: CHANGED });
    expect(status).toBe(409);
    expect(text).toContain('Not tried: the text has mistakes');
    expect(text).toContain('Line 2, column 5: no field <i>x</i> : did you mean y ?');
    expect(text).toContain('2 # <why> ▲ column 5: no field');
    expect(html).not.toContain('<i>x</i>');
    expect(boxOf(html)).toBe(CHANGED);
  });

  it.each([
    ['another id', new AppError('usage', 'the text has the id `x`: keep the id'), 400, 'keep the id'],
    ['too many trials', new AppError('busy', 'too many runs wait'), 429, 'too many runs wait'],
    ['a server that is away', new AppError('api_unreachable', 'no answer within 30 s'), 502, 'no answer within 30 s'],
  ])('keeps the text when it is refused: %s', async (_, error, wanted, words) => {
    const { post } = openPages(refusing(error));
    const { status, text, html } = await post(PATH, { text: CHANGED });
    expect(status).toBe(wanted);
    expect(text).toContain(words);
    expect(boxOf(html)).toBe(CHANGED);
  });

  it('answers a trial that takes too long, and keeps the text', async () => {
    const { post } = openPages({ tryRule: () => new Promise(() => {}), clock: fakeClock() });
    const { status, text, html } = await post(PATH, { text: CHANGED });
    expect(status).toBe(504);
    expect(text).toContain('There is no result yet.');
    expect(boxOf(html)).toBe(CHANGED);
  });

  it('says that nothing would be done on a reading that is not trusted', async () => {
    const { post } = openPages({ tryRule: async () => ({ ...TRIED, untrusted: ['devices: <b>shrunk</b>'] }) });
    const { text, html } = await post(PATH, { text: CHANGED });
    expect(text).toContain('Not trusted, so nothing would be done with that data: devices: <b>shrunk</b>');
    expect(html).not.toContain('<b>shrunk');
  });

  it('shows the first of very many subjects, and how many there are', async () => {
    const [one] = TRIED.added;
    const added = Array.from({ length: 1_000 }, (_, at) => ({
      ...(one as (typeof TRIED.added)[0]),
      id: `device-${at}`,
    }));
    const { post } = openPages({ tryRule: async () => ({ ...TRIED, added, addedTotal: 4_321 }) });
    const { text } = await post(PATH, { text: CHANGED });
    expect(text).toContain('Added: 4,321');
    expect(text).toContain('The first 50 of 4,321 are shown.');
  });

  it.each([
    ['that waits', {}, 'It would ban 22 devices within 3 days if they still match.'],
    ['that asks', { mode: 'approve' }, 'It would ask to ban 22 devices within 3 days if they still match.'],
    ['that only reports', { mode: 'dry-run' }, '26 match; the rule only reports.'],
  ] as const)('says what will happen, of a rule %s', async (_, over, words) => {
    const rule = { ...TRIED.rule, forMs: 3 * 86_400_000, ...over };
    const after = { match: 26, unknown: 0, error: 0, act: 0, hold: 0, skip: 26, waits: 22, cools: 0, outside: 0 };
    const { post } = openPages({ tryRule: async () => ({ ...TRIED, rule, after }) });
    const { text } = await post(PATH, { text: CHANGED });
    expect(text).toContain(words);
    expect(text).toContain('Waits for its time 0 22 +22');
    expect(text).toContain('Skip 0 4 +4');
  });

  it('is refused to a reader, and an unknown rule is not found', async () => {
    const { post, trials } = openPages();
    expect((await post(PATH, { text: 'x' }, 'read')).status).toBe(403);
    expect((await post('/rules/nothing/try', { text: 'x' })).status).toBe(404);
    expect((await post(PATH, {})).status).toBe(400);
    expect(trials).toEqual([]);
  });
});

const shown = (before: string[], after: string[]) =>
  diffLines(before, after).map(({ before, after, lines }) => [
    before,
    after,
    lines.map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`).join('|'),
  ]);

describe('the difference of two texts', () => {
  it('is empty for equal texts', () => {
    expect(shown(['a', 'b'], ['a', 'b'])).toEqual([]);
  });

  it('shows three lines around a change, and where it is in each text', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
    const after = before.with(4, 'five');
    expect(shown(before, after)).toEqual([[2, 2, ' 2| 3| 4|-5|+five| 6| 7| 8']]);
  });

  it('separates changes that are far from each other', () => {
    const before = Array.from({ length: 30 }, (_, at) => `${at}`);
    const after = ['new', ...before.with(29, 'last')];
    expect(shown(before, after)).toEqual([
      [1, 1, '+new| 0| 1| 2'],
      [27, 28, ' 26| 27| 28|-29|+last'],
    ]);
  });

  it('has every line of both texts that differs, in order', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        let rebuilt: string[] = [...before];
        for (const hunk of diffLines(before, after).reverse()) {
          const old = hunk.lines.filter(({ kind }) => kind !== 'added').map(({ text }) => text);
          const now = hunk.lines.filter(({ kind }) => kind !== 'removed').map(({ text }) => text);
          expect(rebuilt.slice(hunk.before - 1, hunk.before - 1 + old.length)).toEqual(old);
          rebuilt = [...rebuilt.slice(0, hunk.before - 1), ...now, ...rebuilt.slice(hunk.before - 1 + old.length)];
        }
        expect(rebuilt).toEqual(after);
      }),
    );
  });

  it('stays quick for long texts that have nothing in common', () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `old ${at}`);
    const after = Array.from({ length: 20_000 }, (_, at) => `new ${at}`);
    expect(diffLines(before, after)).toHaveLength(1);
  });
});

function open(current?: Partial<ReplayBeside>) {
  const begun: (AskedReplay & { by: string })[] = [];
  const base = { by: 'ana', startedAt: 0, finishedAt: 60_000, found: undefined, fault: undefined };
  const last = current && { asked: { way: 'what_if', since: '30d', rule: undefined } as const, ...base, ...current };
  const pages = openPages({
    replays: {
      begin: async (asked, by) => {
        if (asked.since === 'busy')
          throw new AppError('busy', 'a replay is under way: wait until it ends', { retryAfterMs: 1 });
        begun.push({ ...asked, by });
      },
      current: async () => last,
    },
  });
  return { ...pages, begun };
}

describe('the page of replays', () => {
  it('is led to by each rule, and has that rule chosen', async () => {
    const pages = open();
    expect((await pages.get(`/rules/${RULE.id}`)).html).toContain(`href="/replay?rule=${RULE.id}"`);
    expect((await pages.get(`/replay?rule=${RULE.id}`)).html).toMatch(new RegExp(`value="${RULE.id}" selected`));
  });

  it('begins one in the name of who asked, and leads back to itself', async () => {
    const pages = open();
    const answer = await pages.post('/replay', { rule: RULE.id, since: '7d', way: 'as_was' }, 'trigger');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/replay?rule=${RULE.id}`]);
    expect(pages.begun).toEqual([{ rule: RULE.id, since: '7d', way: 'as_was', by: 'triggerer' }]);
  });

  it('lets nobody without the scope `trigger` begin one, and lets them read the last one', async () => {
    const pages = open({ found: replayDocument(wrongForty()) });
    expect((await pages.post('/replay', {}, 'read')).status).toBe(403);
    const read = await pages.get('/replay', 'read');
    expect(read.html).not.toContain('<form method="post" action="/replay"');
    expect(read.text).toContain('Would have banned 12 devices of 12 people');
    expect(pages.begun).toEqual([]);
  });

  it('says that one is under way already, and a time that is none is a mistake of the person', async () => {
    const pages = open();
    expect((await pages.post('/replay', { since: 'busy' })).text).toContain('A replay is under way');
    expect((await pages.post('/replay', { way: 'sideways' })).status).toBe(400);
  });

  it('reads itself again while one is under way, and not afterwards', async () => {
    const waiting = await open({ finishedAt: undefined }).get('/replay');
    expect([waiting.headers.get('refresh'), waiting.text.includes('this page reloads by itself')]).toEqual(['3', true]);
    expect(waiting.html).toMatch(/<button[^>]* disabled/);
    const ended = await open({ fault: 'there is no history beside `d.db`' }).get('/replay');
    expect(ended.headers.get('refresh')).toBeNull();
    expect(ended.text).toContain('There is no result: there is no history beside d.db');
  });

  it('shows what its rules need and nobody recorded while it is under way', async () => {
    const waiting = await open({ finishedAt: undefined, notes: ['users were not <b>read</b>'] }).get('/replay');
    expect(waiting.text).toContain('users were not <b>read</b>');
  });

  it('shows hostile names as text, and leads to the pages of subjects', async () => {
    const { html } = await open({ found: replayDocument(wrongForty()) }).get('/replay');
    expect(html).not.toMatch(/<script>alert|\u202e/);
    expect(html).toMatch(/<a href="\/subjects\/device\/0f8e1c7a[^"]*">/);
  });

  it('that another version of Trustward made is named as that, and asked for again', async () => {
    const { unread: _, ...older } = replayDocument(wrongForty());
    const { status, text } = await open({ found: older }).get('/replay');
    expect(status).toBe(200);
    expect(text).toContain('another version of Trustward made it: ask for it again');
  });

  it('has a bounded page, however much a replay found', async () => {
    const acts = Array.from({ length: 20_000 }, (_, n) => replayedAct({ target: `S-${n}` }));
    const { html, text } = await open({ found: replayDocument(wrongForty({ acts })) }).get('/replay');
    expect(html.length).toBeLessThan(200_000);
    expect(text).toContain('and 19,900 more');
  });
});
