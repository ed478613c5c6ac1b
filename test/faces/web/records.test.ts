// The audit and the tokens on the page: found by filter, verified; made once, shown once, revoked at once.
import { describe, expect, it } from 'vitest';
import type { AuditCheck } from '../../../src/domain/audit-entry.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { addActed, HOSTILE } from './acted.ts';

async function opened(over = {}): Promise<OpenedPages> {
  const pages = openPages(over);
  await addActed(pages.store, 'run1', [{ id: '1', outcome: 'succeeded', status: 'standing' }]);
  await pages.store.appendAudit([
    { kind: 'stop.set', body: { by: 'ana (command line)', reason: HOSTILE } },
    { kind: 'stop.lifted', body: { by: 'bo', reason: 'fine' } },
  ]);
  return pages;
}

const rowsOf = (html: string) => [...html.matchAll(/id="entry-(\d+)"/g)].map(([, seq]) => Number(seq));

describe('the audit', () => {
  it('shows its entries, newest first, with who and what', async () => {
    const { get, store } = await opened();
    const { seq } = await store.auditHead();
    const { status, text, html } = await get('/audit', 'read');
    expect(status).toBe(200);
    expect(rowsOf(html).slice(0, 2)).toEqual([seq, seq - 1]);
    expect(text).toContain('ana (command line)');
    expect(text).toContain('bo resumed: fine');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
    expect(html.length).toBeLessThan(60_000);
  });

  it.each([
    ['kind=stop.set&target=&actor=&since=', ['stop.set'], ['stop.lifted']],
    ['actor=ana', ['stop.set'], ['stop.lifted']],
    ['target=serial-1', ['intent.sent'], ['stop.set']],
  ])('is filtered by %s', async (query, has, hasNot) => {
    const { get } = await opened();
    const { text, status } = await get(`/audit?${query}`);
    expect(status).toBe(200);
    for (const kind of has) expect(text).toContain(kind);
    for (const kind of hasNot) expect(text).not.toContain(kind);
  });

  it('refuses filters that mean nothing with a page', async () => {
    const { get } = await opened();
    expect((await get('/audit?target=nobody')).status).toBe(404);
    expect((await get('/audit?since=soon')).status).toBe(400);
    expect((await get('/audit?kind=stop')).status).toBe(400);
    expect((await get('/audit?before=x')).status).toBe(400);
  });

  it('is paged by number, and each page keeps the filters', async () => {
    const pages = openPages();
    await pages.store.appendAudit(Array.from({ length: 70 }, (_, at) => ({ kind: 'notice' as const, body: { at } })));
    const { html } = await pages.get('/audit?kind=notice');
    const next = /href="([^"]*)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toContain('kind=notice');
    const second = await pages.get(next);
    expect([rowsOf(html).length, rowsOf(second.html).length]).toEqual([50, 20]);
    expect(rowsOf(second.html)[0]).toBe((rowsOf(html).at(-1) as number) - 1);
  });

  it('shows one entry with the bytes that were hashed', async () => {
    const { get, store } = await opened();
    const [entry] = await store.audit({ kind: 'stop.lifted', limit: 1 });
    const { text } = await get(`/audit/${entry?.seq}`);
    for (const words of [entry?.bytes, entry?.hash, entry?.prev]) expect(text).toContain(words);
    const [hostile] = await store.audit({ kind: 'stop.set', limit: 1 });
    const page = await get(`/audit/${hostile?.seq}`);
    expect(page.html).not.toContain('<script>alert');
    expect(page.html).toContain('⟨U+202E⟩');
  });

  it.each(['0', '999', 'x', '1e3'])('has no entry %s', async (seq) => {
    expect((await (await opened()).get(`/audit/${seq}`)).status).toBe(404);
  });
});

describe('verifying the audit', () => {
  const verdict = async ({ get }: OpenedPages) => {
    for (;;) {
      const { text } = await get('/audit/verify', 'read');
      if (!text.includes('Under way')) return text;
    }
  };

  it('says that it is whole', async () => {
    const pages = await opened();
    expect((await pages.get('/audit/verify')).text).toContain('It was not verified here since the daemon started.');
    const { status, headers } = await pages.post('/audit/verify', {}, 'read');
    expect([status, headers.get('location')]).toEqual([303, '/audit/verify']);
    expect(await verdict(pages)).toMatch(/Whole\. the audit is whole: \d+ entries/);
  });

  it('names the first bad entry and what is wrong with it', async () => {
    const bad = { seq: 7, reason: 'its content does not match its hash' };
    const check = { ok: false, first: 1, entries: 6, head: 'h', checkpoints: 0, sealed: 0, bad, tables: [], notes: [] };
    const pages = await opened({ verifyAudit: async () => check });
    await pages.post('/audit/verify');
    expect(await verdict(pages)).toContain(
      'Not whole. the audit is broken at entry 7: its content does not match its hash',
    );
    expect((await pages.get('/audit/verify')).html).toContain('href="/audit/7"');
  });

  it('answers while it is under way, shows how far it is, and runs once', async () => {
    let end: (check: AuditCheck) => void = () => {};
    let begun = 0;
    const verifyAudit = (seen?: (seq: number) => void) => {
      begun += 1;
      seen?.(3);
      return new Promise<AuditCheck>((resolve) => {
        end = resolve;
      });
    };
    const pages = await opened({ verifyAudit });
    await pages.post('/audit/verify');
    await pages.post('/audit/verify');
    const { seq } = await pages.store.auditHead();
    expect((await pages.get('/audit/verify')).text).toContain(`3 of ${seq} entries are read`);
    expect(begun).toBe(1);
    end({
      ok: true,
      first: 1,
      entries: seq,
      head: 'h',
      checkpoints: 0,
      sealed: 0,
      bad: undefined,
      tables: [],
      notes: [],
    });
    expect(await verdict(pages)).toContain('Whole.');
  });

  it('begins one verification for two who ask at the same time', async () => {
    let begun = 0;
    const verifyAudit = () => {
      begun += 1;
      return Promise.reject(new Error('not needed'));
    };
    const pages = await opened({ verifyAudit });
    await Promise.all([pages.post('/audit/verify'), pages.post('/audit/verify')]);
    expect(begun).toBe(1);
  });

  it('hides the text of an error that was not written for people', async () => {
    const pages = await opened({ verifyAudit: () => Promise.reject(new Error('secret detail')) });
    await pages.post('/audit/verify');
    const text = await verdict(pages);
    expect(text).toContain('It could not be verified.');
    expect(text).not.toContain('secret');
  });
});

const ASKED = { name: 'ci', scope: 'read', expires: '90d' };

describe('tokens', () => {
  it('are made to read unless another scope is chosen: the least one opens streams of signals alone', async () => {
    const { html } = await openPages().get('/tokens');
    expect(/<option [^>]*selected[^>]*>\s*(\w+)/.exec(html)?.[1]).toBe('read');
  });

  it('are made and shown once: in the answer, and in no address or later page', async () => {
    const { get, post } = openPages();
    const { status, text, headers } = await post('/tokens', ASKED);
    expect(status).toBe(201);
    expect(headers.get('location')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    const token = /tw_[\w-]{40,}/.exec(text)?.[0] as string;
    expect(token).toBeDefined();
    expect(text).toContain('Copy it now: it is shown only once.');
    const list = await get('/tokens');
    expect(list.text).toContain('ci read valid');
    expect(list.text).toContain('by adminer');
    expect(list.html).not.toContain(token);
  });

  it('are revoked by their name', async () => {
    const { get, post, store } = openPages();
    await post('/tokens', { ...ASKED, name: 'ana@example.com', expires: '' });
    const { status, headers } = await post('/tokens/ana%40example.com/revoke');
    expect([status, headers.get('location')]).toEqual([303, '/tokens']);
    expect(await store.endpointTokens()).toMatchObject([{ revokedBy: 'adminer' }]);
    const { text, html } = await get('/tokens');
    expect(text).toContain('revoked');
    expect(html).not.toContain('/revoke"');
  });

  it.each([
    [{ ...ASKED, name: '<script>' }, 400],
    [{ ...ASKED, scope: 'root' }, 400],
    [{ ...ASKED, expires: 'soon' }, 400],
    [{ ...ASKED, name: 'admin' }, 409],
  ])('are refused with a page that names the fault: %j', async (asked, expected) => {
    const { post, store } = openPages();
    const { status, html } = await post('/tokens', asked);
    expect(status).toBe(expected);
    expect(html).not.toContain('<script>`');
    expect(await store.endpointTokens()).toEqual([]);
  });

  it('are for scope `admin` alone', async () => {
    const { get, post, store } = openPages();
    expect((await get('/tokens', 'approve')).status).toBe(403);
    expect((await post('/tokens', ASKED, 'approve')).status).toBe(403);
    expect((await post('/tokens/ci/revoke', {}, 'approve')).status).toBe(403);
    expect((await get('/', 'approve')).html).not.toContain('href="/tokens"');
    expect(await store.endpointTokens()).toEqual([]);
  });
});
