// What the first page shows, what its buttons do, and that nobody who may not press them sees them.
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { RunRecord } from '../../../src/domain/store.ts';
import { addRun, START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';

describe('the overview', () => {
  it('shows that all is well, and when the next run comes', async () => {
    const { get } = openPages({ nextRunAtMs: () => Date.UTC(2026, 10, 21, 9, 40) });
    const { status, text } = await get('/');
    expect(status).toBe(200);
    expect(text).toContain('All is well. As of 2026-11-21 09:00:00 UTC .');
    expect(text).toContain('next run 2026-11-21 09:40:00 UTC');
  });

  it('shows what looks at the event log do, and the sources as the last whole run read them', async () => {
    const text = 'every 30s; last look 2026-11-22 10:00:30 UTC; 1 look';
    const { get, store } = openPages({ readiness: async () => [{ name: 'watch', ok: true, text }] });
    const startedAt = START_MS + 60_000;
    await addRun(store, { trigger: 'schedule', sources: { devices: { count: 4_000 } } });
    const sources = { devices: { form: 'single', count: 3 } } as const;
    await addRun(store, { id: 'look', trigger: 'watch', scoped: true, startedAt, sources });
    const page = await get('/');
    expect(page.text).toContain('watch every 30s; last look 2026-11-22 10:00:30 UTC');
    expect(page.text).toContain('2 runs completed, 1 after new events only.');
    expect(page.text).toContain('devices 4,000, paged');
    expect(page.text).toContain('watch only subjects of new events');
  });

  it('shows the sources of the run before while a run still reads', async () => {
    const { get, store } = openPages();
    await addRun(store, { trigger: 'schedule', sources: { devices: { count: 4_000 } } });
    const run = (await store.run('run1')) as RunRecord;
    const next = {
      ...run,
      id: 'run2',
      status: 'running',
      startedAt: START_MS + 60_000,
      finishedAt: undefined,
    } as const;
    await store.beginRun(next, [{ kind: 'run.started', body: { run: 'run2' } }]);
    const { text } = await get('/');
    expect(text).toContain('devices 4,000, paged');
    expect(text).not.toContain('Nothing was read yet');
  });

  it('names what is wrong', async () => {
    const { get } = openPages({ readiness: async () => [{ name: 'database', ok: false, text: 'the disk is full' }] });
    expect((await get('/')).text).toContain('Something is wrong. database: the disk is full');
  });

  it('leads to the sign-in page while nobody is signed in', async () => {
    const { get } = openPages();
    const { status, headers } = await get('/', 'none');
    expect([status, headers.get('location')]).toEqual([303, '/sign-in']);
  });

  it('stops everything and resumes, in the name of who is signed in', async () => {
    const { get, post, store } = openPages();
    expect((await post('/stop', { reason: 'a strange <b>ban</b>' })).status).toBe(303);
    expect(await store.stop()).toMatchObject({ by: 'adminer', reason: 'a strange <b>ban</b>' });
    const { text, html } = await get('/');
    expect(text).toContain('STOPPED. adminer stopped everything');
    expect(html).not.toContain('<b>ban</b>');
    expect(text).toContain('Stopped by a person: nothing is called.');
    expect(text).not.toContain('All is well.');
    await post('/resume', { reason: 'understood' });
    expect(await store.stop()).toBeUndefined();
  });

  it('refuses a stop without a reason as a page that says so', async () => {
    const { post, store } = openPages();
    const { status, text } = await post('/stop', {});
    expect(status).toBe(400);
    expect(text).toContain('reason');
    expect(await store.stop()).toBeUndefined();
  });

  it('shows no button to a reader, and refuses what a reader sends anyway', async () => {
    const { get, post, store } = openPages();
    const { html } = await get('/', 'read');
    expect([...html.matchAll(/<form[^>]*action="([^"]*)"/g)].map(([, action]) => action)).toEqual([
      '/search',
      '/sign-out',
    ]);
    expect((await post('/stop', { reason: 'x' }, 'read')).status).toBe(403);
    expect(await store.stop()).toBeUndefined();
  });

  it('travels compressed to who accepts that', async () => {
    const { app } = openPages();
    const plain = await app.request('/sign-in', { headers: { host: '127.0.0.1:8080' } });
    const zipped = await app.request('/sign-in', {
      headers: { host: '127.0.0.1:8080', 'accept-encoding': 'gzip, br' },
    });
    expect([zipped.headers.get('content-encoding'), zipped.headers.get('vary')]).toEqual(['gzip', 'Accept-Encoding']);
    expect(gunzipSync(Buffer.from(await zipped.arrayBuffer())).toString()).toBe(await plain.text());
  });

  it('has no inline script, style or handler', async () => {
    const { get } = openPages({ demo: true });
    const { html, headers } = await get('/');
    expect(html).toContain('DEMO');
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/);
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  });
});
