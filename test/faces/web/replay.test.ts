// web: the page of replays: asking for one, waiting for it, reading it, without JavaScript.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { AskedReplay, ReplayBeside } from '../../../src/domain/replay.ts';
import { replayDocument } from '../../../src/faces/report/replay/build.ts';
import { openPages } from '../../support/pages.ts';
import { replayedAct, wrongForty } from '../../support/replays.ts';
import { RULE } from '../../support/rule-samples.ts';

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
    expect((await pages.post('/replay', { since: 'busy' })).text).toContain('a replay is under way');
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
