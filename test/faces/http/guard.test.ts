// http: who has access, and what a stranger sees.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';

const READING = [
  '/api/runs',
  '/api/plans',
  '/api/decisions',
  '/api/intents',
  '/api/claims',
  '/api/notifications',
  '/api/rules',
  '/api/audit',
];

describe('tokens', () => {
  it.each([...READING, '/api/no-such'])('are needed for %s', async (path) => {
    const { ask } = openEndpoint();
    const answer = await ask('GET', path, { scope: 'none' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="trustward"');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each([
    'Bearer wrong-token-0123456789',
    'Bearer',
    `Basic ${TOKENS.admin}`,
    `Bearer ${TOKENS.admin}x`,
    'Bearer a b',
  ])('that are wrong are refused: %s', async (authorization) => {
    const { ask } = openEndpoint();
    const answer = await ask('GET', '/api/runs', { scope: 'none', headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(await answer.text()).not.toContain('0123456789');
  });

  it('are accepted with the scheme in any case', async () => {
    const { ask } = openEndpoint();
    const headers = { authorization: `bearer ${TOKENS.read}` };
    expect((await ask('GET', '/api/runs', { scope: 'none', headers })).status).toBe(200);
  });

  it.each([
    ['read', 'POST', '/api/runs', 'trigger'],
    ['trigger', 'POST', '/api/plans/plan1/approve', 'approve'],
    ['trigger', 'POST', '/api/plans/plan1/reject', 'approve'],
    ['read', 'POST', '/api/plans/plan1/apply', 'approve'],
  ] as const)('of scope %s may not %s %s', async (scope, method, path, needed) => {
    const { ask, requests } = openEndpoint();
    const answer = await ask(method, path, { scope, body: { mode: 'enforce' } });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining(`scope \`${needed}\` is needed`) });
    expect(requests).toEqual([]);
  });
});

describe('hosts', () => {
  const status = async (host: string, hosts = { listenHost: '127.0.0.1', allowed: [] as string[] }) => {
    const { ask } = openEndpoint({ hosts });
    return (await ask('GET', '/api/runs', { headers: { host } })).status;
  };

  it('that a stranger pointed at our address are refused, even with a token', async () => {
    expect(await status('evil.example')).toBe(421);
    expect(await status('evil.example:8080')).toBe(421);
    expect(await status('127.0.0.1.evil.example')).toBe(421);
    expect(await status('localhost.evil.example')).toBe(421);
    expect(await status('192.168.0.7')).toBe(421);
  });

  it('that are ours are served', async () => {
    for (const host of ['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '[::1]:8080'])
      expect(await status(host)).toBe(200);
    expect(await status('trust.example:443', { listenHost: '10.0.0.5', allowed: ['trust.example'] })).toBe(200);
    expect(await status('10.0.0.5:8080', { listenHost: '10.0.0.5', allowed: [] })).toBe(200);
  });

  it('may be any address, but no name, when the endpoint listens on all addresses', async () => {
    const everywhere = { listenHost: '0.0.0.0', allowed: [] };
    expect(await status('172.17.0.2:8080', everywhere)).toBe(200);
    expect(await status('evil.example', everywhere)).toBe(421);
  });

  it('that are not hosts are refused', async () => {
    for (const host of ['a b', 'a@b', '<script>', 'x'.repeat(10_000).concat(':')]) expect(await status(host)).toBe(400);
  });
});

describe('the public part', () => {
  it('shows that the process lives', async () => {
    const { ask } = openEndpoint();
    expect(await (await ask('GET', '/healthz', { scope: 'none' })).json()).toEqual({ status: 'ok' });
    expect((await ask('HEAD', '/healthz', { scope: 'none' })).status).toBe(200);
  });

  it('shows that the daemon is ready, or why not', async () => {
    const ready = openEndpoint({ demo: true });
    const answer = await ready.ask('GET', '/readyz', { scope: 'none' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: 'ready', demo: true });

    const readiness = async () => [{ name: 'database', ok: false, text: 'the disk is full' }];
    const full = await openEndpoint({ readiness }).ask('GET', '/readyz', { scope: 'none' });
    expect(full.status).toBe(503);
    expect(await full.json()).toMatchObject({ status: 'not ready', checks: [{ text: 'the disk is full' }] });
  });

  it('lists the addresses, and shows DEMO', async () => {
    const text = await (await openEndpoint({ demo: true }).ask('GET', '/', { scope: 'none' })).text();
    expect(text).toContain('DEMO');
    expect(text).toContain('/api/runs');
  });
});

describe('errors', () => {
  it('distinguish a wrong method from a wrong path', async () => {
    const { ask } = openEndpoint();
    const method = await ask('DELETE', '/api/runs');
    expect(method.status).toBe(405);
    expect(method.headers.get('allow')).toBe('POST, GET, HEAD');
    expect((await ask('GET', '/api/plans/plan1/approve')).headers.get('allow')).toBe('POST');
    const path = await ask('GET', '/api/no-such');
    expect(path.status).toBe(404);
    expect(await path.json()).toMatchObject({ type: 'urn:trustward:problem:not-found', instance: '/api/no-such' });
    expect((await ask('GET', '/no-such', { scope: 'none' })).status).toBe(404);
  });

  it('of an unexpected kind show nothing internal, and are logged', async () => {
    const { ask, complaints } = openEndpoint({
      rules: () => {
        throw new TypeError('secret-canary at /srv/app.ts:1');
      },
    });
    const answer = await ask('GET', '/api/rules');
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toMatch(/canary|TypeError|\.ts/);
    expect(complaints).toMatchObject([
      { message: 'a request failed with an unexpected error: secret-canary at /srv/app.ts:1' },
    ]);
  });

  it('of a failing database are 503', async () => {
    const { ask } = openEndpoint({
      rules: () => {
        throw new AppError('store_failed', 'the disk is full');
      },
    });
    const answer = await ask('GET', '/api/rules');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ detail: 'the disk is full' });
  });

  it.each([
    ['GET', '/api/runs', 'admin'],
    ['GET', '/api/runs', 'none'],
    ['GET', '/no-such', 'none'],
    ['DELETE', '/healthz', 'none'],
  ] as const)('have the security headers like every answer: %s %s, %s', async (method, path, scope) => {
    const { ask } = openEndpoint();
    const { headers } = await ask(method, path, { scope });
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('are the worst that any request can cause: no crash, no 500', async () => {
    const { ask, complaints } = openEndpoint();
    const segment = fc.oneof(
      fc.constantFrom('api', 'runs', 'latest', 'report', 'subjects', 'device', 'plans', '%', '%2f', '..', ''),
      fc.string(),
    );
    const path = fc
      .array(segment, { maxLength: 5 })
      .map((parts) => `/${parts.map((part) => part.replace(/[?#\\]/g, '')).join('/')}`);
    const query = fc.dictionary(fc.constantFrom('limit', 'before', 'run', 'rule', 'x', 'format'), fc.string(), {
      maxKeys: 3,
    });
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH');
    await fc.assert(
      fc.asyncProperty(method, path, query, fc.json(), async (verb, where, asked, text) => {
        const target = new URL(`http://localhost${where}`);
        for (const [name, value] of Object.entries(asked)) target.searchParams.set(name, value);
        const answer = await ask(verb, target.href, verb === 'GET' ? {} : { text });
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(answer.headers.get('content-type')).toBe('application/problem+json');
      }),
      { numRuns: 500 },
    );
    expect(complaints).toEqual([]);
  });
});
