// http: who is signed in at an endpoint of several organizations: where a session and a link lead, and where they lead nowhere.
import { describe, expect, it } from 'vitest';
import { entryBody } from '../../../src/domain/audit-entry.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { newSecret } from '../../../src/runtime/system/ids.ts';
import { openIdentityProvider, Visitor } from '../../support/identity-provider.ts';
import { openOrganizations, signIn } from '../../support/organizations.ts';
import { movedClock, ORIGIN } from '../../support/signing-in.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
// biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
const json = async (answer: Response) => (await answer.json()) as any;

describe('a session', () => {
  it('of one organization is none of another', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const cookie = await signIn(on, '/orgs/alpha', on.of('alpha').tokens.admin);
    expect(cookie).toMatch(/^trustward-8080-alpha=/);
    const get = (path: string, sent = cookie) => on.app.request(path, { headers: { cookie: sent } });
    expect((await get('/orgs/alpha/runs')).status).toBe(200);
    const other = await get('/orgs/beta/runs');
    expect([other.status, other.headers.get('location')]).toEqual([303, '/orgs/beta/sign-in?to=%2Fruns']);
    expect((await get('/orgs/beta/runs', cookie.replace('alpha', 'beta'))).status).toBe(303);
    expect(on.of('beta').opened).toBe(0);
  });

  it('of a token of all organizations opens each, and ends in all', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const cookie = await signIn(on, '', on.provider.approve);
    expect(cookie).toMatch(/^trustward-8080=/);
    const get = async (path: string) => (await on.app.request(path, { headers: { cookie } })).status;
    expect([await get('/orgs/alpha/'), await get('/orgs/beta/'), await get('/orgs')]).toEqual([200, 200, 200]);
    await on.app.request('/orgs/alpha/sign-out', {
      method: 'POST',
      headers: { cookie, host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' },
    });
    expect([await get('/orgs/alpha/'), await get('/orgs/beta/')]).toEqual([303, 303]);
  });

  it('that the store cannot look for is refused as that, and never led to sign in', async () => {
    const failing = () => Promise.reject(new AppError('store_failed', 'The database does not answer'));
    const on = await openOrganizations(['alpha', 'beta'], {
      signIns: () => ({
        ...{ add: failing, find: failing, redeem: failing, noteUse: failing, remove: failing },
        ...{ keep: failing, see: failing, takeTurn: failing, endOfPerson: failing },
      }),
    });
    const secret = newSecret();
    for (const name of ['trustward-8080', 'trustward-8080-alpha', 'trustward-8080-gamma'])
      for (const path of ['/', '/orgs', '/orgs/alpha/runs', '/orgs/gamma/runs']) {
        const answer = await on.app.request(path, { headers: { cookie: `${name}=${secret}` } });
        const isAsked = !name.endsWith('8080') && path.startsWith('/orgs/') ? path.includes(name.slice(15)) : true;
        expect([name, path, answer.status]).toEqual([name, path, isAsked ? 503 : 303]);
      }
    const ready = await on.app.request('/readyz', { headers: { cookie: `trustward-8080=${secret}` } });
    expect(await ready.text()).toContain('"database"');
    const link = await on.app.request(`/orgs/alpha/sign-in?code=${secret}`);
    expect([link.status, await link.text()]).toEqual([503, expect.stringContaining('The database does not answer')]);
    expect((await on.app.request('/api/orgs/alpha/runs', { headers: bearer(on.of('alpha').tokens.read) })).status).toBe(
      200,
    );
    const page = await (await on.app.request('/sign-in')).text();
    // There may be several endpoints: no command knows a link.
    expect(page).toContain('trustward tokens add');
    expect(page).not.toContain('trustward open');
    const [asset = ''] = /\/assets\/[^"]+/.exec(page) ?? [];
    for (const base of ['', '/orgs/alpha', '/orgs/gamma']) {
      const file = await on.app.request(`${base}${asset}`, { headers: { cookie: `trustward-8080=${secret}` } });
      expect([base, file.status]).toEqual([base, 200]);
    }
  });

  it('that nobody has costs the same questions whether or not its organization is there, and opens none', async () => {
    const asked: string[] = [];
    const none = async () => [];
    const on = await openOrganizations(['alpha', 'beta'], {
      signIns: (id = '*') => ({
        find: async (kind, hashes) => {
          asked.push(`${id} ${kind} ${hashes.length}`);
          return none();
        },
        add: async () => true,
        redeem: async () => undefined,
        noteUse: async () => {},
        remove: async () => false,
        keep: async () => {},
        see: async () => false,
        takeTurn: async () => false,
        endOfPerson: async () => 0,
      }),
    });
    const stepsFor = async (id: string) => {
      asked.length = 0;
      const cookie = `trustward-8080-${id}=${newSecret()}`;
      const answers = [
        await on.app.request(`/orgs/${id}/runs`, { headers: { cookie } }),
        await on.app.request('/orgs', { headers: { cookie } }),
        await on.app.request(`/orgs/${id}/sign-in?code=${newSecret()}`),
      ];
      return [answers.map(({ status }) => status), asked.map((line) => line.replace(id, 'ID'))];
    };
    expect(await stepsFor('alpha')).toEqual(await stepsFor('gamma'));
    expect(asked.length).toBeGreaterThan(2);
    expect(on.of('alpha').opened).toBe(0);
  });

  it('begins with a link of its organization alone', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const made = await on.app.request('/api/orgs/alpha/sign-in-links', {
      method: 'POST',
      headers: bearer(on.provider.read),
    });
    const { url } = (await json(made)) as { url: string };
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/orgs\/alpha\/sign-in\?code=/);
    const path = url.slice('http://127.0.0.1:8080'.length);
    expect(await (await on.app.request(path)).text()).toContain('provider:read');
    expect(await (await on.app.request(path.replace('alpha', 'beta'))).text()).toContain('was used already');
  });
});

describe('a person whom the identity provider vouches for', () => {
  it('sees the organizations that their groups name, writes there alone, and is a stranger to each other one', async () => {
    const scopes = [
      { group: 'security', scope: 'approve', organization: 'alpha' },
      { group: 'staff', scope: 'read', organization: undefined },
    ] as const;
    const provider = await openIdentityProvider({ scopes: [...scopes] });
    try {
      const on = await openOrganizations(['alpha', 'beta'], { clock: movedClock(), provider: provider.settings });
      const request = async (path: string, init: RequestInit) => on.app.request(path, init);
      const signedIn = async (sub: string, groups: string[], to = '/') => {
        provider.accounts.set(sub, { email: `${sub}@example.com`, email_verified: true, groups });
        const person = new Visitor({ origin: ORIGIN, request });
        expect((await person.signIn(sub, to)).headers.get('location')).toBe(to);
        return person;
      };
      const statuses = async (person: Visitor) =>
        Promise.all(
          ['alpha', 'beta', 'gamma'].map(async (id) => [
            (await person.open(`/orgs/${id}/runs`)).status,
            (await person.post(`/orgs/${id}/stop`, { reason: 'a drill' })).status,
          ]),
        );
      const ana = await signedIn('u-ana', ['security'], '/orgs/alpha/plans');
      expect(await statuses(ana)).toEqual([
        [200, 303],
        [303, 401],
        [303, 401],
      ]);
      expect((await ana.open('/')).headers.get('location')).toBe('/orgs/alpha/');
      const ben = await signedIn('u-ben', ['staff']);
      expect(await statuses(ben)).toEqual([
        [200, 403],
        [200, 403],
        [303, 401],
      ]);
      expect(await (await ben.open('/orgs')).text()).toContain('beta Ltd.');
      const began = async (id: string) =>
        (await on.of(id).store.audit({ kind: 'session.began', limit: 9 })).map((entry) => entryBody(entry).sub);
      expect([await began('alpha'), await began('beta')]).toEqual([['u-ben', 'u-ana'], ['u-ben']]);
      await ana.post('/sign-out');
      expect((await ana.open('/orgs/alpha/runs')).status).toBe(303);
    } finally {
      await provider.close();
    }
  });
});
