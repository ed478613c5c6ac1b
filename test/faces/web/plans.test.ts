// What the list of plans shows: those that wait first, then the others, by status and a page at a time.
import { describe, expect, it } from 'vitest';
import { addRun, decision, plan, START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';

describe('the list of plans', () => {
  it('has those that wait first, with what they do, then the others with who answered', async () => {
    const { get, store } = openPages();
    const said = { decidedAt: START_MS, decidedBy: '<b>eve</b>', decidedReason: 'no' };
    await addRun(store, { plan: plan(decision(), { id: 'answered', status: 'rejected', ...said }) });
    await addRun(store, { id: 'run2', plan: plan(decision(), { id: 'waits', runId: 'run2' }) });
    const { text, html } = await get('/plans', 'read');
    expect(text).toMatch(/Wait for an answer Plan waits pending 1 × ban_device by ban-compromised-device expires/);
    expect(text).toMatch(/answered rejected 1 action of a live run .* <b>eve<\/b>/);
    expect(text.indexOf('waits')).toBeLessThan(text.indexOf('answered rejected'));
    expect(html).not.toContain('<b>eve');
  });

  it('shows one status alone, and refuses one that there is not', async () => {
    const { get, store } = openPages();
    await addRun(store, { plan: plan(decision(), { id: 'answered', status: 'rejected' }) });
    await addRun(store, { id: 'run2', plan: plan(decision(), { id: 'waits', runId: 'run2' }) });
    const { text } = await get('/plans?status=rejected');
    expect(text).toContain('answered rejected');
    expect(text).not.toContain('waits');
    expect((await get('/plans?status=lost')).status).toBe(400);
  });

  it('leads to older plans, a page at a time', async () => {
    const { get, store } = openPages();
    for (let at = 1; at <= 51; at += 1) {
      const id = `plan-${String(at).padStart(2, '0')}`;
      const over = { id, runId: `run${at}`, status: 'applied', createdAt: START_MS + at } as const;
      await addRun(store, { id: `run${at}`, plan: plan(decision(), over) });
    }
    const first = await get('/plans');
    expect(first.text).toContain('plan-51');
    expect(first.text).not.toContain('plan-01');
    const older = /href="([^"]*)" rel="next"/.exec(first.html)?.[1] as string;
    const second = await get(older.replaceAll('&amp;', '&'));
    expect(second.text).toContain('plan-01');
    expect(second.html).not.toContain('rel="next"');
  });

  it('says when there is none', async () => {
    expect((await openPages().get('/plans')).text).toContain('No plan waits for a person.');
  });
});
