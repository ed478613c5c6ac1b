// What the page of things in force shows, how it is narrowed, and that its buttons do what they say, for who may press them.
import { describe, expect, it } from 'vitest';
import type { IntentShown } from '../../../src/contract/nouns.ts';
import { planView } from '../../../src/faces/report/plan-view.ts';
import type { Doubles, Over } from '../../support/endpoint.ts';
import { decision, plan } from '../../support/filled-store.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { addActed, RULE_ID } from './acted.ts';

async function opened(over: Over = {}): Promise<OpenedPages> {
  const pages = openPages(over);
  await addActed(pages.store, 'run1', [
    { id: '1', outcome: 'succeeded', status: 'standing' },
    { id: '2', outcome: 'succeeded', status: 'orphaned' },
  ]);
  pages.clock.advance(3 * 86_400_000);
  return pages;
}

const released = {
  target: 'SERIAL-1',
  action: 'ban_device',
  state: 'released',
  text: 'it was undone already',
  intent: null,
} as const;

/** Only this works. */
const releasing = (releaseClaims: Required<Doubles>['releaseClaims']): Over => ({ operations: { releaseClaims } });

describe('what is in force', () => {
  it('shows who, since when, for which rule, by which run, and what an orphaned claim means', async () => {
    const { get } = await opened();
    const { status, text, html } = await get('/in-force');
    expect(status).toBe(200);
    expect(text).toContain('All: 2');
    expect(text).toContain('1@example.com');
    expect(text).toContain('3 days');
    expect(text).toContain('run 1');
    expect(text).toContain('the rule is missing or off, so nothing undoes it by itself');
    expect(html).toContain('href="/subjects/device/device-1"');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
    expect(html.length).toBeLessThan(40_000);
  });

  it.each([
    ['/in-force?q=serial-2', 'device-2'],
    ['/in-force?q=2%40EXAMPLE.com', 'device-2'],
    ['/in-force?q=Laptop+2&rule=', 'device-2'],
    ['/in-force?status=standing', 'device-1'],
  ])('is narrowed by any name and by state: %s', async (path, shown) => {
    const { get } = await opened();
    const { html, text } = await get(path);
    expect(text).toContain('Those asked for: 1');
    expect([...html.matchAll(/href="\/subjects\/device\/(device-\d)"/g)].map(([, id]) => id)).toEqual([shown]);
  });

  it('shows nothing for a rule that holds nothing, and refuses a state that there is none of', async () => {
    const { get } = await opened();
    expect((await get('/in-force?rule=other')).text).toContain('Nothing like this is in force.');
    expect((await get('/in-force?status=gone')).status).toBe(400);
    expect((await get('/in-force?after=nobody')).status).toBe(200);
  });

  it('pages the oldest first, each row once', async () => {
    const pages = openPages();
    const ids = Array.from({ length: 60 }, (_, number) => `n${String(number).padStart(2, '0')}`);
    await addActed(
      pages.store,
      'run1',
      ids.map((id) => ({ id, outcome: 'succeeded', status: 'standing' })),
    );
    const rowsOf = (html: string) => [...html.matchAll(/id="claim-claim-(n\d\d)"/g)].map(([, id]) => id);
    const first = await pages.get('/in-force');
    const next = /href="([^"]*)" rel="next"/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(rowsOf(first.html)).toHaveLength(50);
    const second = await pages.get(next);
    expect([...rowsOf(first.html), ...rowsOf(second.html)]).toEqual(ids);
    expect(second.html).not.toContain('rel="next"');
  });

  it('releases one target in the name of who is signed in, and says what came of it', async () => {
    const asked: unknown[] = [];
    const { post } = await opened(
      releasing(async (input, { by }) => {
        asked.push([input, by]);
        return { released: [released] };
      }),
    );
    const { status, text } = await post(
      '/in-force/release',
      { intent: 'intent-1', reason: 'a new <b>laptop</b>' },
      'approve',
    );
    expect(asked).toEqual([[{ target: 'SERIAL-1', reason: 'a new <b>laptop</b>' }, 'approveer']]);
    expect(status).toBe(200);
    expect(text).toContain('it was undone already');
  });

  it('leads to the undo that a release has sent', async () => {
    const { post } = await opened(
      releasing(async () => ({ released: [{ ...released, intent: { id: 'undo1' } as IntentShown }] })),
    );
    const { status, headers } = await post('/in-force/release', { intent: 'intent-1', reason: 'x' });
    expect([status, headers.get('location')]).toEqual([303, '/intents/undo1']);
  });

  it('releases a target whose name no form or address brings back, and asks before in visible characters', async () => {
    const target = `S\u0000\n\u202e${'x'.repeat(2_000)}`;
    const asked: unknown[] = [];
    const pages = openPages(
      releasing(async ({ target: on }) => {
        asked.push(on);
        return { released: [released] };
      }),
    );
    await addActed(pages.store, 'run1', [{ id: '1', outcome: 'succeeded', status: 'standing', over: { target } }]);
    const { html } = await pages.get('/in-force');
    expect(html).toMatch(/data-confirm="Undo ban_device on [^\0\n\u202e]{1,400} now\?/);
    const sent = /name="intent" value="([^"]*)"/.exec(html)?.[1] as string;
    expect((await pages.post('/in-force/release', { intent: sent, reason: 'x' })).status).toBe(200);
    expect(asked).toEqual([target]);
    const { status, html: action } = await pages.get('/intents/intent-1');
    expect([status, action.includes('/audit?target=')]).toEqual([200, false]);
  });

  it('leads to the plan that releases all of a rule', async () => {
    const { post } = await opened(
      releasing(async ({ rule = '' }) => ({
        ...{ plan: planView(plan(decision({ rule }), { id: 'plan9' })), matching: 1, kept: [] },
      })),
    );
    const { status, headers } = await post('/in-force/release-rule', { rule: RULE_ID, reason: '' });
    expect([status, headers.get('location')]).toEqual([303, '/plans/plan9']);
  });

  it('answers a release of nothing, and one without a reason, with a page that says so', async () => {
    const { post } = await opened();
    expect((await post('/in-force/release', { intent: 'intent-9', reason: 'x' })).status).toBe(404);
    expect((await post('/in-force/release', { intent: 'intent-1' })).text).toContain('reason');
  });

  it('has no button for a reader, and refuses what one sends', async () => {
    const { get, post } = await opened();
    expect((await get('/in-force', 'read')).html).not.toContain('action="/in-force/');
    expect((await post('/in-force/release', { intent: 'intent-1', reason: 'x' }, 'trigger')).status).toBe(403);
    expect((await post('/in-force/release-rule', { rule: RULE_ID }, 'read')).status).toBe(403);
  });
});
