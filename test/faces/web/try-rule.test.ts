// Trying a change of a rule on its page: the result, what is wrong at which line, and that the text a person wrote is never lost.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { HttpDeps } from '../../../src/faces/http/deps.ts';
import { fakeClock } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { RULE, RULE_REPORT, RULE_TEXT, TRIED } from '../../support/rule-samples.ts';

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
    expect(text).toContain('Not trusted, so nothing would be done on it: devices: <b>shrunk</b>');
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

  it('is refused to a reader, and an unknown rule is not found', async () => {
    const { post, trials } = openPages();
    expect((await post(PATH, { text: 'x' }, 'read')).status).toBe(403);
    expect((await post('/rules/nothing/try', { text: 'x' })).status).toBe(404);
    expect((await post(PATH, {})).status).toBe(400);
    expect(trials).toEqual([]);
  });
});
