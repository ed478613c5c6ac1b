// http: persons sign in at the organization's identity provider, a real one on loopback: who they are, what their groups may do, how long.
import { afterEach, describe, expect, it } from 'vitest';
import type { Rule } from '../../../src/domain/rule.ts';
import type { AskOptions } from '../../support/endpoint.ts';
import type { IdentityProvider } from '../../support/identity-provider.ts';
import { textOf } from '../../support/pages.ts';
import { openSigningIn } from '../../support/signing-in.ts';

const ORIGIN = 'http://127.0.0.1:8080';
const MINUTE = 60_000;
const opened: IdentityProvider[] = [];
afterEach(async () => {
  for (const provider of opened.splice(0)) await provider.close();
});

async function open(options: Parameters<typeof openSigningIn>[0] = {}) {
  const on = await openSigningIn(options);
  opened.push(on.provider);
  return on;
}

const textIn = async (answer: Response) => textOf(await answer.text());
const STOP = { reason: 'a drill' };

it('the page leads to the provider and back to where the person wanted to go, with what their groups may do', async () => {
  const on = await open();
  const page = await (await on.visitor().open('/sign-in?to=%2Fplans')).text();
  expect(page).toContain(`href="${ORIGIN}/sign-in/provider?to=%2Fplans"`);
  const ana = await on.signedIn('u-ana', '/plans?q=1');
  const back = new URL(ana.been.at(-1) ?? '');
  expect([...back.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
  const shown = await textIn(await ana.open('/'));
  expect(shown).toContain('ana@example.com (approve)');
  expect(shown).not.toContain('u-ana');
  const ben = await on.signedIn('u-ben');
  expect(await textIn(await ben.open('/'))).toContain('ben@example.com (read)');
  const refused = await ben.post('/stop', STOP);
  expect([refused.status, await textIn(refused)]).toEqual([403, expect.stringContaining('ben@example.com has read')]);
});

it('the audit has who signed in, once, and what they did as a person of the provider', async () => {
  const on = await open();
  const ana = await on.signedIn('u-ana');
  for (const path of ['/', '/runs', '/']) await ana.open(path);
  const { issuer } = on.provider.settings;
  const by = `ana@example.com (u-ana at ${issuer})`;
  const entry = { by, issuer, sub: 'u-ana', scope: 'approve', groups: ['security', 'staff'] };
  expect(await on.audited('session.began')).toEqual([entry]);
  expect((await ana.post('/stop', STOP)).status).toBe(303);
  expect(await on.audited('stop.set')).toMatchObject([{ by }]);
  expect(await textIn(await ana.open('/audit'))).toContain(`ana@example.com signed in at ${issuer} with scope approve`);
});

it('of a person in thousands of groups those that the rules name are kept, and reach who does what they ask for', async () => {
  const owners = [{ folder: 'fleet', groups: ['zebra'], rules: [] }];
  const approvals = { approvals: [], tokens: [], owners };
  const rules = () => [{ guards: { ask: [], lastDevice: false, perDay: undefined, approvals } } as unknown as Rule];
  const seen: string[][] = [];
  const stop = async (_: unknown, { groups = [] }: { groups?: string[] | undefined }) => {
    seen.push(groups);
    return { stopped: { at: '', by: '', reason: '', reference: null } };
  };
  const on = await openSigningIn({}, { rules, operations: { stop } });
  opened.push(on.provider);
  const account = on.provider.accounts.get('u-ana');
  const many = Array.from({ length: 3_000 }, (_, at) => `group ${at}`);
  if (account) account.groups = [...many, 'zebra', 'security'];
  const ana = await on.signedIn('u-ana');
  await ana.post('/stop', STOP);
  expect(seen.map((groups) => [groups.length, ...groups.slice(0, 3)])).toEqual([[202, 'zebra', 'security', 'group 0']]);
});

it('nothing that is stored, logged or shown has a token, a code or a secret of the provider', async () => {
  const on = await open();
  const seen: string[] = [];
  on.provider.lies.set('/token', (body) => {
    seen.push(...['access_token', 'refresh_token', 'id_token'].map((name) => String(body[name])));
    return body;
  });
  const ana = await on.signedIn('u-ana');
  seen.push(new URL(ana.been.at(-1) ?? '').searchParams.get('code') ?? '', on.provider.settings.secret);
  on.clock.advance(2 * MINUTE);
  await ana.post('/stop', STOP);
  const entries = JSON.stringify(await on.store.audit({ limit: 100 }));
  const all = [entries, JSON.stringify(on.complaints), await (await ana.open('/')).text(), ...ana.jar.values()].join();
  expect(seen.length).toBeGreaterThanOrEqual(8);
  for (const secret of seen) expect([secret.length > 20, all.includes(secret)]).toEqual([true, false]);
});

describe.each([
  ['by a refresh token that is good once', true],
  ['at the page about the person', false],
])('groups asked for again %s', (_, hasRefresh) => {
  it('take the right away from the next write of who lost the group, and all of it from who lost the last one', async () => {
    const on = await open({ hasRefresh });
    const ana = await on.signedIn('u-ana');
    expect((await ana.post('/stop', STOP)).status).toBe(303);
    const account = on.provider.accounts.get('u-ana');
    if (account) account.groups = ['staff'];
    // Within the minute the groups are those of the last asking.
    expect((await ana.post('/resume', STOP)).status).toBe(303);
    on.clock.advance(MINUTE);
    expect((await ana.open('/')).status).toBe(200);
    const less = await ana.post('/stop', STOP);
    expect([less.status, await textIn(less)]).toEqual([403, expect.stringContaining('approve is needed')]);
    expect(await textIn(await ana.open('/'))).toContain('ana@example.com (read)');
    if (account) account.groups = ['chess'];
    on.clock.advance(MINUTE);
    const none = await ana.post('/stop', STOP);
    expect([none.status, await textIn(none)]).toEqual([
      403,
      expect.stringMatching(/in none of the groups.*ask whoever/),
    ]);
    expect((await ana.open('/')).status).toBe(303);
    expect(await on.audited('stop.set')).toHaveLength(1);
  });

  it('are asked for once by two forms at the same moment, and both are done', async () => {
    const on = await open({ hasRefresh });
    const ana = await on.signedIn('u-ana');
    on.clock.advance(2 * MINUTE);
    const path = hasRefresh ? '/token' : '/me';
    const before = on.provider.asked(path);
    const answers = await Promise.all([1, 2, 3, 4].map(() => ana.post('/stop', STOP)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303]);
    expect(on.provider.asked(path) - before).toBe(1);
    expect((await ana.open('/')).status).toBe(200);
  });

  it('that cannot be asked for refuse writes and leave reading, and stopping, to who could a moment ago', async () => {
    const on = await open({ hasRefresh });
    const ana = await on.signedIn('u-ana');
    await on.provider.close();
    on.clock.advance(2 * MINUTE);
    expect((await ana.open('/runs')).status).toBe(200);
    expect((await ana.post('/stop', STOP)).status).toBe(303);
    const refused = await ana.post('/resume', STOP);
    expect([refused.status, await textIn(refused)]).toEqual([
      503,
      expect.stringContaining('Nothing was done, since the'),
    ]);
    expect(await on.audited('stop.lifted')).toEqual([]);
    on.clock.advance(MINUTE);
    const again = await on.visitor().open('/sign-in/provider');
    expect([again.status, await textIn(again)]).toEqual([503, expect.stringContaining('everything else goes on')]);
    // The other ways are there.
    expect((await on.ask('POST', '/api/resume', { body: STOP } satisfies AskOptions)).status).toBe(200);
  });
});

describe('a session of a person', () => {
  it('is renewed while the provider vouches for it, and ends when it does not any more', async () => {
    const on = await open();
    const ana = await on.signedIn('u-ana');
    for (let count = 0; count < 3; count += 1) {
      on.clock.advance(11 * MINUTE);
      expect((await ana.open('/runs')).status).toBe(200);
    }
    on.provider.accounts.delete('u-ana');
    on.clock.advance(11 * MINUTE);
    expect((await ana.open('/runs')).status).toBe(303);
    expect((await ana.post('/stop', STOP)).status).toBe(401);
  });

  it('opens nothing once the settings name another provider', async () => {
    const on = await open();
    const ana = await on.signedIn('u-ana');
    on.provider.settings.issuer = 'https://other.example.com';
    expect((await ana.open('/runs')).status).toBe(303);
  });

  it('ends with the token where nothing renews it', async () => {
    const on = await open({ hasRefresh: false });
    const ana = await on.signedIn('u-ana');
    on.clock.advance(9 * MINUTE);
    expect((await ana.open('/runs')).status).toBe(200);
    on.clock.advance(2 * MINUTE);
    expect((await ana.open('/runs')).status).toBe(303);
  });

  it('ends when the person signs out here, and when the provider says that theirs ended there', async () => {
    const on = await open();
    const [ana, other, ben] = [await on.signedIn('u-ana'), await on.signedIn('u-ana'), await on.signedIn('u-ben')];
    await ana.post('/sign-out');
    const open_ = async () => Promise.all([ana, other, ben].map(async (one) => (await one.open('/runs')).status));
    expect(await open_()).toEqual([303, 200, 200]);
    await on.provider.logsOut('u-ana', undefined);
    expect(await open_()).toEqual([303, 303, 200]);
  });
});

it('with links switched off nobody makes or uses one, and tokens and persons sign in', async () => {
  const on = await open({ hasLinks: false });
  const refused = await on.ask('POST', '/api/sign-in-links');
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('TRUSTWARD_LINKS=off')]);
  const page = await textIn(await on.visitor().open('/sign-in'));
  expect([page.includes('trustward open'), page.includes('trustward tokens add')]).toEqual([false, true]);
  expect(await textIn(await (await on.signedIn('u-ben')).open('/'))).toContain('ben@example.com (read)');
});
