// endpoint: who is signed in, at two endpoints that are processes behind one address: what one knows, the other knows, and so does one that
// starts later.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { type Installation, install, PROVIDER } from './installation.ts';

/** As a balancer has it: the cookie is named by its port, at every endpoint. */
const PUBLIC = 'http://trust.example.com:8443';
const FORM = 'application/x-www-form-urlencoded';

describe.skipIf(hasNoPostgres)(`a person at two endpoints${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let one: string;
  let other: string;

  beforeAll(async () => {
    on = await install(['alpha', 'beta']);
    on.env.TRUSTWARD_PUBLIC_URL = PUBLIC;
    [one, other] = await Promise.all([on.serve(), on.serve()]);
  }, 300_000);
  afterAll(() => on?.close(), 120_000);

  async function get(at: string, path: string, cookie = '') {
    const answer = await fetch(`${at}${path}`, { headers: { cookie }, redirect: 'manual' });
    return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
  }

  /** As a browser sends it from a page of the public address. */
  function send(at: string, path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const body = new URLSearchParams(fields).toString();
    const own = { origin: PUBLIC, 'content-type': FORM };
    return fetch(`${at}${path}`, { method: 'POST', headers: { ...own, ...headers }, body, redirect: 'manual' });
  }

  async function api(at: string, path: string, body?: object, token = PROVIDER) {
    const answer = await fetch(`${at}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
    return (await answer.json()) as any;
  }

  function cookieOf(answer: Response): string {
    expect(answer.status).toBe(303);
    const [cookie = ''] = answer.headers.getSetCookie();
    return cookie.split(';')[0] as string;
  }

  const signIn = async (at: string, path: string, token = PROVIDER) =>
    cookieOf(await send(at, `${path}/sign-in`, { token }));

  /** The code of a link to alpha. */
  async function newCode(at: string, token?: string): Promise<string> {
    const { url } = await api(at, '/api/orgs/alpha/sign-in-links', {}, token);
    expect(url).toMatch(/^http:\/\/trust\.example\.com:8443\/orgs\/alpha\/sign-in\?code=/);
    return new URL(url).searchParams.get('code') as string;
  }

  /** Waits for what the endpoints tell each other within seconds. */
  async function until(look: () => Promise<boolean>): Promise<void> {
    while (!(await look())) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  it('an organization that no worker has opened yet is opened by both at the same time, with one key', async () => {
    const answers = await Promise.all([one, other].map((at) => api(at, '/api/orgs/beta/runs')));
    expect(answers).toEqual([expect.objectContaining({ runs: [] }), expect.objectContaining({ runs: [] })]);
    for (const at of [one, other]) {
      expect(await api(at, '/api/orgs/beta/stop', { reason: 'a test' })).toHaveProperty('stopped');
      expect(await api(at, '/api/orgs/beta/resume', { reason: 'a test' })).toHaveProperty('lifted');
    }
    const keys = readFileSync(join(on.env.TRUSTWARD_STATE as string, 'beta/trustward.audit-key.pub'), 'utf8');
    expect(keys.match(/BEGIN PUBLIC KEY/g)).toHaveLength(1);
  });

  it('who signs in at one reads and commands at the other, with forms of our own pages alone', async () => {
    const cookie = await signIn(one, '/orgs/alpha');
    expect(cookie).toMatch(/^trustward-8443=[\w-]{43}$/);
    expect((await get(other, '/orgs/alpha/runs', cookie)).status).toBe(200);
    const foreign = await send(other, '/orgs/alpha/stop', { reason: 'forged' }, { cookie, origin: 'http://evil.test' });
    expect(foreign.status).toBe(403);
    expect((await send(other, '/orgs/alpha/stop', { reason: 'a test' }, { cookie })).status).toBe(303);
    expect((await get(one, '/orgs/alpha/', cookie)).text).toContain('a test');
    expect((await send(one, '/orgs/alpha/resume', { reason: 'a test' }, { cookie })).status).toBe(303);
    expect((await get(one, '/orgs/alpha/audit', cookie)).text).toContain('provider:admin');
  });

  it('a link of one is looked at and used at the other, and is then spent at both', async () => {
    const code = await newCode(one);
    for (const at of [one, other])
      expect((await get(at, `/orgs/alpha/sign-in?code=${code}`)).text).toContain('provider:admin');
    expect((await send(other, '/orgs/beta/sign-in', { code })).status).toBe(401);
    const cookie = cookieOf(await send(other, '/orgs/alpha/sign-in', { code }));
    expect(cookie).toMatch(/^trustward-8443-alpha=/);
    for (const at of [one, other]) {
      expect((await send(at, '/orgs/alpha/sign-in', { code })).status).toBe(401);
      expect((await get(at, `/orgs/alpha/sign-in?code=${code}`)).text).toContain('was used already');
      expect((await get(at, '/orgs/alpha/runs', cookie)).status).toBe(200);
    }
  });

  it('a link that is used at both at the same time signs in once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const code = await newCode(one);
      const answers = await Promise.all([one, other].map((at) => send(at, '/orgs/alpha/sign-in', { code })));
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 401]);
      expect(answers.flatMap(({ headers }) => headers.getSetCookie())).toHaveLength(1);
    }
  });

  it('who signs out at one is signed out at the other', async () => {
    const [mine, yours] = [await signIn(one, '/orgs/alpha'), await signIn(one, '/orgs/alpha')];
    expect((await get(one, '/orgs/alpha/runs', mine)).status).toBe(200);
    const answer = await send(other, '/orgs/alpha/sign-out', {}, { cookie: mine });
    expect(answer.headers.getSetCookie().join()).toContain('trustward-8443=; ');
    for (const at of [one, other]) {
      expect((await get(at, '/orgs/alpha/runs', mine)).location).toBe('/orgs/alpha/sign-in?to=%2Fruns');
      expect((await get(at, '/orgs/alpha/runs', yours)).status).toBe(200);
    }
  });

  it('who signs in anew has another session, and the one before is over at both', async () => {
    const before = await signIn(one, '/orgs/alpha');
    const after = cookieOf(await send(other, '/orgs/alpha/sign-in', { token: PROVIDER }, { cookie: before }));
    expect(after).not.toBe(before);
    for (const at of [one, other]) {
      expect((await get(at, '/orgs/alpha/runs', before)).status).toBe(303);
      expect((await get(at, '/orgs/alpha/runs', after)).status).toBe(200);
    }
    const planted = `trustward-8443=${'x'.repeat(43)}`;
    const given = cookieOf(await send(other, '/orgs/alpha/sign-in', { token: PROVIDER }, { cookie: planted }));
    expect(given).not.toBe(planted);
    expect((await get(one, '/orgs/alpha/runs', planted)).status).toBe(303);
  });

  it('a session of one organization opens no other, at neither endpoint', async () => {
    const cookie = cookieOf(await send(one, '/orgs/alpha/sign-in', { code: await newCode(one) }));
    const renamed = cookie.replace('-alpha=', '-beta=');
    const provider = cookie.replace('-alpha=', '=');
    for (const at of [one, other])
      for (const sent of [cookie, renamed, provider, `${cookie}; ${renamed}; ${provider}`]) {
        expect((await get(at, '/orgs/beta/runs', sent)).location).toBe('/orgs/beta/sign-in?to=%2Fruns');
        expect((await send(at, '/orgs/beta/stop', { reason: 'stolen' }, { cookie: sent })).status).toBe(401);
      }
    expect((await get(other, '/orgs', cookie)).text).not.toContain('beta');
    expect((await get(other, '/orgs', cookie)).text).toContain('/orgs/alpha/');
  });

  it('a token that is revoked at one has no session and no link at the other, from the next request on', async () => {
    const { token } = await api(one, '/api/orgs/alpha/tokens', { name: 'ci', scope: 'read' });
    const cookie = await signIn(one, '/orgs/alpha', token);
    const code = await newCode(one, token);
    await until(async () => (await get(other, '/orgs/alpha/runs', cookie)).status === 200);
    expect((await api(one, '/api/orgs/alpha/tokens/ci/revoke', {})).name).toBe('ci');
    for (const at of [other, one]) {
      expect((await get(at, '/orgs/alpha/runs', cookie)).status).toBe(303);
      expect((await send(at, '/orgs/alpha/sign-in', { code })).status).toBe(401);
    }
  });

  it('a replay that one endpoint makes is shown by the other', async () => {
    const cookie = await signIn(one, '/orgs/alpha');
    const begun = await send(one, '/orgs/alpha/replay', { way: 'as_was', since: '2d' }, { cookie });
    expect(begun.status).toBe(303);
    // No run was recorded: the command found the organization, and says so.
    await until(async () => (await get(other, '/orgs/alpha/replay', cookie)).text.includes('there is no history'));
  });

  it('who is signed in stays so at an endpoint that starts later', async () => {
    const cookie = await signIn(one, '/orgs/alpha');
    const later = await on.serve();
    expect((await get(later, '/orgs/alpha/runs', cookie)).status).toBe(200);
    expect((await send(later, '/orgs/alpha/sign-out', {}, { cookie })).status).toBe(303);
    expect((await get(one, '/orgs/alpha/runs', cookie)).status).toBe(303);
  });
});
