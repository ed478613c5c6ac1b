// http: tokens that people make: shown once, kept as hashes, refused from the moment that they are revoked or expired.
import { describe, expect, it } from 'vitest';
import { hashOfToken } from '../../../src/domain/endpoint-token.ts';
import { addToken, revokeToken, type TokenParts } from '../../../src/engine/operate/endpoint-tokens.ts';
import { TokenRegister, tokenHash } from '../../../src/faces/http/sign-in.ts';
import { newToken } from '../../../src/runtime/system/ids.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { countingIds } from '../../support/engine-on-platform.ts';
import { fakeClock, openStore } from '../../support/filled-store.ts';
import { silentLog } from '../../support/organization.ts';

const DAY_MS = 86_400_000;

async function auditOf(store: SqliteStore): Promise<{ kind: string; body: object; bytes: string }[]> {
  const entries = await store.audit({ limit: 100 });
  return entries.reverse().map(({ kind, bytes }) => ({ kind, body: JSON.parse(bytes).body, bytes }));
}

describe('the routes', () => {
  it('show a new token once, and keep only its hash', async () => {
    const { ask, store } = openEndpoint();
    const answer = await ask('POST', '/api/tokens', { body: { name: 'ci', scope: 'trigger', expires: '90d' } });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const made = (await answer.json()) as { token: string };
    expect(made).toMatchObject({ name: 'ci', scope: 'trigger', createdBy: 'adminer' });
    expect(made.token).toMatch(/^tw_[\w-]{40,}$/);
    const listed = await ask('GET', '/api/tokens');
    const text = await listed.text();
    expect(JSON.parse(text)).toMatchObject({ tokens: [{ name: 'ci', good: true, usedAt: null, revokedAt: null }] });
    expect(text).not.toContain(made.token);
    expect(text).not.toContain(hashOfToken(made.token));
    expect((await store.endpointTokens())[0]?.hash).toBe(hashOfToken(made.token));
  });

  it('record who added and revoked a token, and never the token itself', async () => {
    const { ask, store } = openEndpoint();
    const { token } = await bodyOf<{ token: string }>(
      ask('POST', '/api/tokens', { body: { name: 'ci', scope: 'read' } }),
    );
    const revoked = await bodyOf<object>(ask('POST', '/api/tokens/ci/revoke'));
    expect(revoked).toMatchObject({ name: 'ci', revokedBy: 'adminer', good: false });
    const audit = await auditOf(store);
    expect(audit).toMatchObject([
      { kind: 'token.added', body: { name: 'ci', scope: 'read', by: 'adminer' } },
      { kind: 'token.revoked', body: { name: 'ci', scope: 'read', by: 'adminer' } },
    ]);
    expect(JSON.stringify(audit)).not.toContain(token);
  });

  it.each([
    [{ name: 'Ana Ruiz', scope: 'read' }, 400, 'small letters'],
    [{ name: '', scope: 'read' }, 400, 'name'],
    [{ name: 'ci', scope: 'all' }, 400, 'scope'],
    [{ name: 'ci', scope: 'read', expires: 'soon' }, 400, 'a duration such as 30d'],
    [{ name: 'ci', scope: 'read', expires: '2020-01-01' }, 400, 'in the past'],
    [{ name: 'ci', scope: 'read', hash: 'x' }, 400, 'hash'],
    [{ name: 'admin', scope: 'read' }, 409, 'TRUSTWARD_TOKEN'],
    [{ name: 'schedule', scope: 'approve' }, 409, 'what Trustward itself is called'],
  ])('refuse %j, and nothing is kept', async (body, status, words) => {
    const { ask, store } = openEndpoint();
    const answer = await ask('POST', '/api/tokens', { body });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining(words) });
    expect(await store.endpointTokens()).toEqual([]);
    expect((await store.auditHead()).seq).toBe(0);
  });

  it('refuse a taken name until its token is revoked, even after the token expired', async () => {
    const { ask, clock } = openEndpoint();
    const add = () => ask('POST', '/api/tokens', { body: { name: 'ci', scope: 'read', expires: '1d' } });
    expect((await add()).status).toBe(201);
    expect((await add()).status).toBe(409);
    clock.advance(2 * DAY_MS);
    const over = await add();
    expect(over.status).toBe(409);
    expect(await over.json()).toMatchObject({ detail: expect.stringContaining('revoke it first') });
    expect((await ask('POST', '/api/tokens/ci/revoke')).status).toBe(200);
    expect((await add()).status).toBe(201);
  });

  it('name an unknown token, and leave the configured one alone', async () => {
    const { ask } = openEndpoint();
    expect((await ask('POST', '/api/tokens/nobody/revoke')).status).toBe(404);
    expect((await ask('POST', '/api/tokens/admin/revoke')).status).toBe(409);
  });
});

describe('the register', () => {
  async function open() {
    const clock = fakeClock();
    const store = openStore(clock);
    const tokens = store.tokens();
    const parts: TokenParts = { tokens, clock, ids: countingIds(), secret: newToken };
    const configured = [{ name: 'admin', scope: 'admin' as const, hash: tokenHash('configured-0123456789') }];
    const register = new TokenRegister({ store: tokens, configured, clock, log: silentLog });
    await register.load();
    const add = async (name: string, expires?: string) => {
      const { text } = await addToken(parts, { name, scope: 'read', expires }, 'ana');
      await register.load();
      return text;
    };
    return { clock, store, parts, register, add };
  }

  it('knows each token by name and scope, and no other', async () => {
    const { register, add } = await open();
    const [ci, bo] = [await add('ci'), await add('bo')];
    expect(ci).toMatch(/^tw_[\w-]{43}$/);
    expect(register.verify(ci)).toEqual({ name: 'ci', scope: 'read' });
    expect(register.verify(bo)).toEqual({ name: 'bo', scope: 'read' });
    expect(register.verify('configured-0123456789')).toEqual({ name: 'admin', scope: 'admin' });
    expect(register.verify(`${ci}x`)).toBeUndefined();
    expect(register.verify(hashOfToken(ci))).toBeUndefined();
  });

  it('no longer knows a revoked token, and still knows the others', async () => {
    const { register, add, parts } = await open();
    const [ci, bo] = [await add('ci'), await add('bo')];
    await revokeToken(parts, 'ci', 'ana');
    await register.load();
    expect(register.verify(ci)).toBeUndefined();
    expect(register.verify(bo)?.name).toBe('bo');
  });

  it('knows a token until the moment of its end, without an update', async () => {
    const { register, add, clock } = await open();
    const text = await add('ci', '1d');
    clock.advance(DAY_MS - 1);
    expect(register.verify(text)?.name).toBe('ci');
    clock.advance(1);
    expect(register.verify(text)).toBeUndefined();
  });

  it('records a use at once, then once a minute, and a failing write refuses nobody', async () => {
    const { register, add, clock, store, parts } = await open();
    const text = await add('ci');
    const written: number[] = [];
    const { noteUse } = parts.tokens;
    parts.tokens.noteUse = (id, at) => {
      written.push(at);
      return noteUse.call(parts.tokens, id, at);
    };
    const first = clock.nowMs();
    for (let second = 0; second < 90; second += 1) {
      expect(register.verify(text)?.name).toBe('ci');
      clock.advance(1_000);
    }
    expect(written).toEqual([first, first + 60_000]);
    expect((await store.endpointTokens())[0]?.usedAt).toBe(first + 60_000);
    parts.tokens.noteUse = () => Promise.reject(new Error('the disk is full'));
    clock.advance(60_000);
    expect(register.verify(text)?.name).toBe('ci');
  });
});
