// What needs a person: which actions are shown, what each answer does, and what one action's page has of it.
import { describe, expect, it } from 'vitest';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { addActed, HOSTILE } from './acted.ts';

async function opened(): Promise<OpenedPages> {
  const pages = openPages();
  await addActed(pages.store, 'run1', [
    { id: '1', outcome: 'unknown', note: HOSTILE },
    { id: '2', outcome: 'parked', note: 'failed three times' },
    { id: '3', outcome: 'failed', note: 'HTTP 500' },
    { id: '4', outcome: 'succeeded', status: 'standing' },
  ]);
  return pages;
}

describe('actions that need a person', () => {
  it('are shown by state, with the last answer and what happens by itself next', async () => {
    const { get } = await opened();
    const { status, text, html } = await get('/in-doubt');
    expect(status).toBe(200);
    for (const words of ['In doubt: 1', 'Parked: 1', 'Failed and still to be done: 1']) expect(text).toContain(words);
    for (const words of ['the next run reads it back', 'nothing happens by itself', 'a later run tries again'])
      expect(text).toContain(words);
    expect(text).toContain('failed three times');
    expect(text).not.toContain('SERIAL-4');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
  });

  it('are shown of one state alone, in pages', async () => {
    const { get } = await opened();
    const { text } = await get('/in-doubt?state=parked');
    expect(text).toContain('SERIAL-2');
    expect(text).not.toContain('SERIAL-1');
    expect((await get('/in-doubt?state=parked&before=intent-2')).text).toContain('None.');
    expect((await get('/in-doubt?state=settled')).status).toBe(400);
  });

  it.each([
    ['intent-1', 'done', 'confirmed'],
    ['intent-2', 'not-done', 'failed'],
    ['intent-3', 'retry', 'unknown'],
  ])('are resolved by a person who says why: %s as %s', async (id, as, outcome) => {
    const { get, post, store } = await opened();
    const { status, headers } = await post(`/intents/${id}/resolve`, { as, reason: 'I <i>looked</i>' }, 'approve');
    expect([status, headers.get('location')]).toEqual([303, `/intents/${id}`]);
    expect((await store.intents({ ids: [id] }))[0]).toMatchObject({
      outcome,
      note: `approveer says ${as}: I <i>looked</i>`,
    });
    const { text, html } = await get(`/intents/${id}`);
    expect(text).toContain(`approveer says ${as}: I <i>looked</i>`);
    expect(text).toContain('intent.resolved');
    expect(html).not.toContain('<i>looked');
  });

  it('are not resolved without a reason, without an answer, or twice', async () => {
    const { post } = await opened();
    expect((await post('/intents/intent-1/resolve', { as: 'done' })).status).toBe(400);
    expect((await post('/intents/intent-1/resolve', { reason: 'x' })).status).toBe(400);
    expect((await post('/intents/intent-4/resolve', { as: 'done', reason: 'x' })).status).toBe(409);
    expect((await post('/intents/nobody/resolve', { as: 'done', reason: 'x' })).status).toBe(404);
  });

  it('have no form for a reader', async () => {
    const { get, post } = await opened();
    expect((await get('/in-doubt', 'read')).html).not.toContain('/resolve"');
    expect((await get('/intents/intent-1', 'read')).html).not.toContain('/resolve"');
    expect((await post('/intents/intent-1/resolve', { as: 'done', reason: 'x' }, 'read')).status).toBe(403);
  });
});

describe('the page of one action', () => {
  it('shows its rules, run, attempts, facts and entries of the audit', async () => {
    const { get } = await opened();
    const { text, html } = await get('/intents/intent-2');
    for (const words of [
      'ban_device',
      'SERIAL-2',
      'run 1',
      '1 attempt',
      'MdmData.CompromisedStatus = "TRUE"',
      'intent.sent',
    ])
      expect(text).toContain(words);
    expect(text).not.toContain('SERIAL-3');
    expect(html).toContain('href="/rules/ban-compromised-device"');
    expect((await get('/intents/nobody')).status).toBe(404);
  });

  it('offers nothing for one that is done', async () => {
    const { get } = await opened();
    expect((await get('/intents/intent-4')).html).not.toContain('/resolve"');
  });
});
