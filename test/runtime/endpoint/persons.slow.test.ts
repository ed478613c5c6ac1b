// endpoint: persons at two endpoints on one PostgreSQL: who signs in at one, with a browser or a command, writes at the other; two who say yes through
// different endpoints at the same moment are both counted; what a passkey is asked at one, it answers at the other, once; a logout holds at both.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { Authenticator } from '../../support/authenticator.ts';
import { type IdentityProvider, openIdentityProvider, Visitor } from '../../support/identity-provider.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED } from '../../support/organization.ts';
import { textOf } from '../../support/pages.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { type Installation, install } from './installation.ts';

/** As a balancer has it. */
const PUBLIC = 'https://trust.example.com:8443';
const NEED_TWO = 'approvals:\n  - people: 2\n    groups: [security]\n';

describe.skipIf(hasNoPostgres)(`persons at two endpoints${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let provider: IdentityProvider;
  let endpoints: string[];
  const home = mkdtempSync(join(tmpdir(), 'trustward-persons-'));

  beforeAll(async () => {
    provider = await openIdentityProvider({ base: PUBLIC });
    provider.accounts.set('u-cem', { email: 'cem@example.com', email_verified: true, groups: ['security'] });
    provider.accounts.set('u-kim', { email: 'kim@example.com', email_verified: true, groups: ['keys'] });
    const scopes = 'security=approve@alpha, staff=read@alpha, keys=approve@beta';
    on = await install(['alpha', 'beta'], {
      ...provider.env,
      TRUSTWARD_OIDC_SCOPES: scopes,
      TRUSTWARD_PUBLIC_URL: PUBLIC,
    });
    mkdirSync(on.path('rules-of-beta'));
    writeFileSync(on.path('rules-of-beta/ban.yaml'), BAN_COMPROMISED);
    writeFileSync(on.path('rules-of-beta/approvals.yaml'), 'approvals:\n  - people: 1\n    touch: true\n');
    on.write('beta', 'approve', { rules: 'rules-of-beta' });
    writeFileSync(on.path('rules/approvals.yaml'), NEED_TWO);
    endpoints = await Promise.all([on.serve(), on.serve()]);
    await on.work();
    provider.endsHere.send = (url, { method = 'POST', headers = {}, body = null }) =>
      fetch(`${endpoints[0]}${new URL(url).pathname}`, { method, headers, body });
  }, 300_000);
  afterAll(async () => {
    await on?.close();
    await provider?.close();
    rmSync(home, { recursive: true });
  }, 120_000);

  /** Begins at the first endpoint, and polls the second. */
  async function signedIn(person: string) {
    const [one, other] = endpoints as [string, string];
    const post = async (url: string, body: object) => {
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
      return (await answer.json()) as any;
    };
    const { code, completeUri } = await post(`${one}/sign-in/device`, {});
    const browser = new Visitor({ origin: one, request: (path, init) => fetch(`${one}${path}`, init) });
    await browser.entersCode(`u-${person}`, completeUri);
    const { session } = await post(`${other}/sign-in/device/poll`, { code });
    return {
      session,
      /** At one of the endpoints, by its number. */
      async says(at: number, ...args: string[]) {
        const endpoint = endpoints[at] as string;
        const folder = join(home, `${person}-${at}`);
        // As a balancer has it: one session at the address of either.
        const file = join(folder, 'trustward', `${encodeURIComponent(endpoint)}.session.json`);
        mkdirSync(join(folder, 'trustward'), { recursive: true });
        writeFileSync(file, JSON.stringify({ endpoint, session, person }), { mode: 0o600 });
        return command(args, { XDG_CONFIG_HOME: folder, HOME: home, TRUSTWARD_ENDPOINT: endpoint });
      },
    };
  }

  const ALPHA = ['--org', 'alpha'];

  it('a session that one began opens the other, for the organizations of its groups alone', async () => {
    const ana = await signedIn('ana');
    for (const at of [0, 1]) expect(await ana.says(at, 'inbox', ...ALPHA)).toMatchObject({ code: 0 });
    expect(await ana.says(0, 'stop', '--reason', 'a drill', ...ALPHA)).toMatchObject({ code: 0 });
    expect(await ana.says(1, 'resume', '--reason', 'it was one', ...ALPHA)).toMatchObject({ code: 0 });
    const foreign = [await ana.says(1, 'inbox', '--org', 'beta'), await ana.says(0, 'inbox', '--org', 'none')];
    expect(foreign.map(({ err }) => err.replace(/`\w+` for you at http:\/\/[^ ]+:/, '… for you:'))).toEqual(
      Array(2).fill('trustward: there is no organization … for you: you may see alpha (--org)\n'),
    );
    expect((await ana.says(0, 'inbox')).err).toContain('--org is missing: you may see alpha at');
  });

  async function planThatIs(
    status: string,
    { says }: Pick<Awaited<ReturnType<typeof signedIn>>, 'says'>,
    organization: string,
  ) {
    for (;;) {
      const [plan] = JSON.parse((await says(0, 'plans', '--format', 'json', '--org', organization)).out).plans;
      if (plan?.status === status) return plan;
      await systemClock.sleep(500);
    }
  }

  it('two who say yes at the same moment through different endpoints are both counted, and the plan is approved once', async () => {
    const [ana, cem] = await Promise.all([signedIn('ana'), signedIn('cem')]);
    const plansOf = async () => JSON.parse((await ana.says(0, 'plans', '--format', 'json', ...ALPHA)).out).plans;
    const plan = await planThatIs('pending', ana, 'alpha');
    const yes = ['approve', plan.id, '--digest', plan.digest, ...ALPHA];
    const said = await Promise.all([ana.says(0, ...yes), cem.says(1, ...yes)]);
    const [after] = (await plansOf()).filter(({ id }: { id: string }) => id === plan.id);
    const entries = JSON.parse((await ana.says(1, 'audit', 'list', '--format', 'json', ...ALPHA)).out).entries;
    const ofPlan = entries.filter(({ body }: { body: { plan?: string } }) => body.plan === plan.id);
    const by = (kind: string) =>
      ofPlan
        .filter((one: { kind: string }) => one.kind === kind)
        .map(({ body }: { body: { by: string } }) => body.by.split(' ')[0]);
    process.stdout.write(
      `two at once through two endpoints: ${said.map(({ code }) => code).join(' ')}, ${after.status}; agreed ${by('plan.agreed').length}, approved ${by('plan.approved').length}\n`,
    );
    expect(said.map(({ err }) => err)).toEqual(['', '']);
    expect(['approved', 'applying', 'applied']).toContain(after.status);
    expect(by('plan.agreed').sort()).toEqual(['ana@example.com', 'cem@example.com']);
    expect(by('plan.approved')).toHaveLength(1);
  });

  /** Its requests reach one and the other in turn. */
  function browser() {
    let asked = 0;
    const request = (path: string, { headers, ...init }: RequestInit) => {
      const { host: _, ...sent } = headers as Record<string, string>;
      asked += 1;
      return fetch(`${endpoints[asked % 2]}${path}`, { ...init, headers: sent });
    };
    return { visitor: new Visitor({ origin: PUBLIC, request }), asked: () => asked };
  }

  it('a browser whose requests reach one and the other in turn is signed in, and writes, as one person', async () => {
    const { visitor: ana, asked } = browser();
    expect((await ana.signIn('u-ana')).status).toBe(303);
    for (const what of ['stop', 'resume', 'stop', 'resume'])
      expect((await ana.post(`/orgs/alpha/${what}`, { reason: 'a drill' })).status).toBe(303);
    expect((await ana.open('/orgs/beta/')).status).toBe(303); // to sign in there
    expect(asked()).toBeGreaterThan(6);
  });

  it('a passkey that is asked at one endpoint is registered and answers at the other, each answer once, by way of a worker', async () => {
    const { visitor: kim } = browser();
    expect((await kim.signIn('u-kim', '/orgs/beta/')).status).toBe(303);
    const at = (path: string) => `/orgs/beta${path}`;
    const asked = async (path: string, fields: [string, string][]) =>
      JSON.parse(await (await kim.post(at(path), fields)).text());
    const statuses = (all: Response[]) => all.map(({ status }) => status).sort();
    const refusal = async (all: Response[]) => textOf(await (all.find(({ status }) => status !== 303)?.text() ?? ''));

    const key = new Authenticator(PUBLIC);
    // Each is asked at one and sent to the other; both are the same key, of which one is kept.
    const made = [];
    for (const name of ['one', 'other'])
      made.push(Object.entries({ name, ...key.register(await asked('/passkeys/begin', [['name', name]])) }));
    const registered = await Promise.all(made.map((fields) => kim.post(at('/passkeys'), fields)));
    expect(statuses(registered)).toEqual([303, 409]);
    expect(await refusal(registered)).toMatch(/registered before|has a passkey/);

    const login = await signedIn('kim');
    const plan = await planThatIs('pending', login, 'beta');
    const page = await (await kim.open(at(`/plans/${plan.id}`))).text();
    const targets = [...page.matchAll(/name="target" value="([^"]+)"/g)].map(
      ([, one = '']) => ['target', one] as const,
    );
    expect(targets).toHaveLength(2);
    const fields: [string, string][] = [['digest', plan.digest], ['typed', '2'], ...targets.map(([...one]) => one)];
    const untouched = await kim.post(at(`/plans/${plan.id}/approve`), fields);
    expect(await refusal([untouched])).toContain('has a passkey, which this answer needs');
    const touch = key.touch(await asked(`/plans/${plan.id}/touch/approve`, fields));
    const twice = [0, 1].map(() => kim.post(at(`/plans/${plan.id}/approve`), [...fields, ['touch', touch]]));
    const answered = await Promise.all(twice);
    expect(statuses(answered)).toEqual([303, 409]);
    expect(await refusal(answered)).toContain('was used before');

    // The worker judges what was signed once more.
    await planThatIs('applied', login, 'beta');
    const list = JSON.parse((await login.says(0, 'audit', 'list', '--format', 'json', '--org', 'beta')).out);
    const kept: { kind: string; body: object }[] = list.entries.filter(({ body }: { body: object }) => 'touch' in body);
    expect(kept).toMatchObject(
      ['plan.approved', 'plan.agreed'].map((kind) => ({ kind, body: { plan: plan.id, touch: JSON.parse(touch) } })),
    );
    const verified = await command(['audit', 'verify', '--org', 'beta'], { ...on.env });
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('the audit is whole')]);
  });

  it('who lost the group between two writes through different endpoints has no right at either', async () => {
    const cem = await signedIn('cem');
    expect((await cem.says(0, 'stop', '--reason', 'a drill', ...ALPHA)).code).toBe(0);
    const account = provider.accounts.get('u-cem');
    if (account) account.groups = ['staff'];
    // The provider is asked once a minute at most: a minute goes by.
    const asked = "to_jsonb((person->>'askedAt')::bigint - 62000)";
    const passed = `UPDATE trustward.sign_ins SET person = jsonb_set(person, '{askedAt}', ${asked}) WHERE kind = 'person'`;
    expect((await on.sql(passed)).rowCount).toBeGreaterThan(0);
    for (const at of [1, 0])
      expect((await cem.says(at, 'resume', '--reason', 'late', ...ALPHA)).err).toContain('scope `approve` is needed');
    if (account) account.groups = ['security'];
    expect((await (await signedIn('ana')).says(1, 'resume', '--reason', 'it was one', ...ALPHA)).code).toBe(0);
  });

  it('a logout at the provider ends the session at both', async () => {
    const cem = await signedIn('cem');
    expect((await cem.says(1, 'inbox', ...ALPHA)).code).toBe(0);
    await provider.logsOut('u-cem', undefined);
    for (const at of [0, 1]) expect((await cem.says(at, 'inbox', ...ALPHA)).err).toContain('has ended: sign in again');
  });
});
