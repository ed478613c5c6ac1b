// Tokens on the page: only for scope `admin`, shown once, in no address, and revoked at once.
import { describe, expect, it } from 'vitest';
import { openPages } from '../../support/pages.ts';

const ASKED = { name: 'ci', scope: 'read', expires: '90d' };

describe('tokens', () => {
  it('are made and shown once: in the answer, and in no address or later page', async () => {
    const { get, post } = openPages();
    const { status, text, headers } = await post('/tokens', ASKED);
    expect(status).toBe(201);
    expect(headers.get('location')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    const token = /tw_[\w-]{40,}/.exec(text)?.[0] as string;
    expect(token).toBeDefined();
    expect(text).toContain('Keep it now: it is shown this once.');
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
