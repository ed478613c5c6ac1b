// http: an endpoint of several organizations: what leads to which, who may see what, and what is dropped.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { NO_TRANSMITTER } from '../../../src/domain/signal.ts';
import { openOrganizations, signIn } from '../../support/organizations.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
// biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
const json = async (answer: Response) => (await answer.json()) as any;

describe('a path', () => {
  it('of programs or of people leads to its organization', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    for (const id of ['alpha', 'beta']) {
      const headers = bearer(on.of(id).tokens.read);
      for (const path of [`/api/orgs/${id}/runs`, `/orgs/${id}/api/runs`]) {
        const { runs } = await json(await on.app.request(path, { headers }));
        expect((runs as { id: string }[]).map((run) => run.id)).toEqual([`${id}-run`, `${id}-dry`]);
      }
    }
  });

  it('of a transmitter leads to its organization without a token of ours; whether there is one of either shows in nothing', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const receive = async (name: string) =>
      name === 'idp' ? ({ status: 202 } as const) : ({ status: 404, ...NO_TRANSMITTER } as const);
    for (const id of ['alpha', 'beta']) on.of(id).deps.signals = { receive };
    const push = async (path: string) => {
      const headers = { 'content-type': 'application/secevent+jwt' };
      const answer = await on.app.request(path, { method: 'POST', body: 'a.b.c', headers });
      return [answer.status, await answer.text(), [...answer.headers]];
    };
    expect((await push('/orgs/alpha/signals/idp'))[0]).toBe(202);
    const none = await push('/orgs/alpha/signals/other');
    expect(none[0]).toBe(404);
    expect(await push('/orgs/gamma/signals/idp')).toEqual(none);
    expect(on.of('beta').opened).toBe(0);
  });

  it('without an organization asks for one', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const answer = await on.app.request('/api/runs', { headers: bearer(on.of('alpha').tokens.admin) });
    expect(answer.status).toBe(404);
    expect(await json(answer)).toMatchObject({ detail: expect.stringContaining('/api/orgs/ORG/') });
    expect((await on.app.request('/api/runs')).status).toBe(401);
  });

  it('without an organization is that of the only one', async () => {
    const on = await openOrganizations(['alpha']);
    const headers = bearer(on.of('alpha').tokens.read);
    for (const path of ['/api/runs', '/api/orgs/alpha/runs'])
      expect((await on.app.request(path, { headers })).status).toBe(200);
    const cookie = await signIn(on, '', on.of('alpha').tokens.admin);
    const page = await (await on.app.request('/', { headers: { cookie } })).text();
    expect(page).toContain('href="/runs"');
    expect(page).not.toContain('class="organization"');
  });

  it('of an answer leads where its client came from', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const headers = { ...bearer(on.of('alpha').tokens.trigger), 'content-type': 'application/json' };
    const body = JSON.stringify({ mode: 'dry-run' });
    const begun = await on.app.request('/api/orgs/alpha/runs', { method: 'POST', headers, body });
    const location = begun.headers.get('location') as string;
    expect(location).toMatch(/^\/api\/orgs\/alpha\/runs\//);
    expect((await on.app.request(location, { headers })).status).toBe(200);
    expect((await on.app.request('/api/orgs/alpha/nothing', { headers })).status).toBe(404);
    const refused = await json(await on.app.request('/api/orgs/alpha/nothing', { headers }));
    expect(refused).toMatchObject({ instance: '/api/orgs/alpha/nothing' });
    const { servers } = await json(await on.app.request('/orgs/alpha/openapi.json', { headers }));
    expect(servers).toEqual([{ url: '/orgs/alpha' }]);
  });
});

describe('a token', () => {
  it('of all organizations opens each, and records name it so', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const headers = { ...bearer(on.provider.admin), 'content-type': 'application/json' };
    for (const id of ['alpha', 'beta']) {
      const body = JSON.stringify({ reason: 'a test' });
      expect((await on.app.request(`/api/orgs/${id}/stop`, { method: 'POST', headers, body })).status).toBe(200);
      expect((await on.of(id).store.stop())?.by).toBe('provider:admin');
    }
    expect((await on.app.request('/api/orgs/gamma/runs', { headers })).status).toBe(401);
  });

  it('lists the organizations that it may see', async () => {
    const on = await openOrganizations(['beta', 'alpha']);
    const listed = async (token: string, query = '') => {
      const answer = await json(await on.app.request(`/api/orgs${query}`, { headers: bearer(token) }));
      return [(answer.organizations as { id: string }[]).map(({ id }) => id), answer.total, answer.next];
    };
    expect(await listed(on.provider.read)).toEqual([['alpha', 'beta'], 2, null]);
    expect(await listed(on.provider.read, '?limit=1')).toEqual([['alpha'], 2, 'alpha']);
    expect(await listed(on.provider.read, '?limit=1&after=alpha')).toEqual([['beta'], 2, 'beta']);
    expect(await listed(on.provider.read, '?q=BETA')).toEqual([['beta'], 1, null]);
    expect(await listed(on.of('beta').tokens.read)).toEqual([['beta'], 1, null]);
    for (const token of [on.of('beta').tokens.revoked, on.of('beta').tokens.expired, 'unknown-0123456789'])
      expect((await on.app.request('/api/orgs', { headers: bearer(token) })).status).toBe(401);
  });

  it('that was revoked opens nothing from the next request on, whoever remembers it', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const one = on.of('alpha');
    const headers = bearer(one.tokens.read);
    const ask = async () => (await on.app.request('/api/orgs/alpha/runs', { headers })).status;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    expect(on.asked.length).toBe(1);
    one.register.configure([]);
    expect(await ask()).toBe(401);
  });

  it('has one limit in all organizations together', async () => {
    const on = await openOrganizations(['alpha', 'beta'], { rateLimits: { reads: 12, writes: 12 } });
    const headers = bearer(on.provider.read);
    const ask = async (id: string) => (await on.app.request(`/api/orgs/${id}/runs`, { headers })).status;
    expect([await ask('alpha'), await ask('beta'), await ask('alpha'), await ask('beta')]).toEqual([
      200, 200, 429, 429,
    ]);
    expect((await on.app.request('/api/orgs/beta/runs', { headers: bearer(on.of('beta').tokens.read) })).status).toBe(
      200,
    );
  });
});

describe('choosing', () => {
  it('shows those that a person may see, and finds one by a part of its name', async () => {
    const on = await openOrganizations(['alpha', 'beta', 'gamma']);
    const provider = await signIn(on, '', on.provider.read);
    const own = await signIn(on, '/orgs/beta', on.of('beta').tokens.read);
    const seen = async (cookie: string, query = '') => {
      const page = await (await on.app.request(`/orgs${query}`, { headers: { cookie } })).text();
      return [...page.matchAll(/href="\/orgs\/([a-z]+)\/"/g)].map(([, id]) => id);
    };
    expect(await seen(provider)).toEqual(['alpha', 'beta', 'gamma']);
    expect(await seen(provider, '?q=Ltd')).toEqual(['alpha', 'beta', 'gamma']);
    expect(await seen(provider, '?q=amm')).toEqual(['gamma']);
    expect(await seen(own)).toEqual(['beta']);
    expect((await on.app.request('/', { headers: { cookie: own } })).headers.get('location')).toBe('/orgs/beta/');
    expect((await on.app.request('/orgs')).headers.get('location')).toBe('/sign-in?to=%2Forgs');
  });
});

describe('an organization', () => {
  it('is opened when it is first asked, once, and closed when nobody used it for long', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const one = on.of('alpha');
    const ask = () => on.app.request('/api/orgs/alpha/runs', { headers: bearer(one.tokens.read) });
    await Promise.all([ask(), ask(), ask()]);
    expect([one.opened, on.of('beta').opened]).toEqual([1, 0]);
    on.clock.advance(14 * 60_000);
    await on.closeUnused();
    expect(one.closed).toBe(0);
    on.clock.advance(2 * 60_000);
    await on.closeUnused();
    expect(one.closed).toBe(1);
    expect((await ask()).status).toBe(200);
    expect(one.opened).toBe(2);
  });

  it('stays open while a stream of it is; sessions and links outlive its closing', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const stream = await on.app.request('/api/orgs/alpha/stream', { headers: bearer(on.of('alpha').tokens.read) });
    const cookie = await signIn(on, '/orgs/beta', on.of('beta').tokens.read);
    on.clock.advance(60 * 60_000);
    await on.closeUnused();
    expect([on.of('alpha').closed, on.of('beta').closed]).toEqual([0, 1]);
    expect((await on.app.request('/orgs/beta/runs', { headers: { cookie } })).status).toBe(200);
    expect(on.of('beta').opened).toBe(2);
    await stream.body?.cancel();
    on.clock.advance(60 * 60_000);
    await on.closeUnused();
    expect([on.of('alpha').closed, on.of('beta').closed]).toEqual([1, 2]);
  });

  it('that is not configured any more answers nobody, and is closed', async () => {
    const on = await openOrganizations(['alpha', 'beta', 'gamma']);
    const ask = async () =>
      (await on.app.request('/api/orgs/alpha/runs', { headers: bearer(on.of('alpha').tokens.read) })).status;
    expect(await ask()).toBe(200);
    on.lines.shift();
    expect(await ask()).toBe(401);
    await on.closeUnused();
    expect(on.of('alpha').closed).toBe(1);
  });

  it('that cannot be opened says why to its own, and the others go on', async () => {
    const base = await openOrganizations(['alpha', 'beta']);
    let attempts = 0;
    const on = await openOrganizations(['alpha', 'beta'], {
      open: async (id) => {
        attempts += 1;
        if (id === 'alpha') throw new AppError('store_failed', 'the database of `alpha` cannot be read');
        const { deps, register } = base.of(id);
        return { deps, verifyHash: (hash) => register.verifyHash(hash), append: async () => {}, close: async () => {} };
      },
    });
    const ask = (id: string, token: string) => on.app.request(`/api/orgs/${id}/runs`, { headers: bearer(token) });
    const [first, second] = [
      await ask('alpha', on.of('alpha').tokens.read),
      await ask('alpha', on.of('alpha').tokens.read),
    ];
    expect([first.status, second.status, attempts]).toEqual([503, 503, 1]);
    expect(await json(first)).toMatchObject({ detail: 'the database of `alpha` cannot be read' });
    expect((await ask('beta', on.of('beta').tokens.read)).status).toBe(200);
    expect((await ask('alpha', on.of('beta').tokens.read)).status).toBe(401);
    on.clock.advance(6_000);
    await ask('alpha', on.of('alpha').tokens.read);
    expect(attempts).toBe(3);
  });
});

describe('the health of the process', () => {
  it('names an organization with a problem to a token of all, and to nobody else', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    (on.lines[1] as { problem: string | undefined }).problem = 'the file of its credential is missing';
    const ready = async (headers: Record<string, string>) => {
      const answer = await on.app.request('/readyz', { headers });
      return [answer.status, await answer.text()] as const;
    };
    for (const headers of [{}, bearer(on.of('alpha').tokens.admin)]) {
      const [status, text] = await ready(headers);
      expect(status).toBe(200);
      expect(text).toContain('not all of them work');
      expect(text).not.toMatch(/beta|credential|\b2\b|\b1\b/);
    }
    const [status, text] = await ready(bearer(on.provider.read));
    expect(status).toBe(200);
    expect(text).toContain('"name":"organization beta","ok":false,"text":"the file of its credential is missing"');
    expect(text).toContain('2 are configured, 1 with a problem');
  });

  it('shows its metrics to tokens of all organizations alone', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const ask = async (token: string) => (await on.app.request('/metrics', { headers: bearer(token) })).status;
    expect([await ask(on.provider.read), await ask(on.of('alpha').tokens.admin), await ask('x')]).toEqual([
      200, 401, 401,
    ]);
  });

  it('has a document of what it answers itself', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const { paths } = await json(await on.app.request('/openapi.json'));
    expect(Object.keys(paths).sort()).toEqual([
      '/api/orgs',
      '/healthz',
      '/metrics',
      '/openapi.json',
      '/readyz',
      ...['', '/end', '/poll'].map((path) => `/sign-in/device${path}`),
    ]);
  });
});
