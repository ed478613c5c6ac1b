// scenario: a daemon, an identity provider and the platform, all on loopback: persons of different groups answer plans by the page, from another machine and
// with a passkey, and what is shown of it everywhere names them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PlanShown } from '../../src/contract/nouns.ts';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { Authenticator } from '../support/authenticator.ts';
import { type IdentityProvider, openIdentityProvider, Visitor } from '../support/identity-provider.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';
import { textOf } from '../support/pages.ts';
import { movedClock } from '../support/signing-in.ts';

const ORIGIN = 'http://localhost:8080';
const GROUPS = { ana: ['security'], ben: ['endpoint-team'], cleo: ['security'], dan: ['cloud-team'] };
type Person = keyof typeof GROUPS;

let org: Organization;
let daemon: Daemon;
let provider: IdentityProvider;
const clock = movedClock();
const home = mkdtempSync(join(tmpdir(), 'trustward-yes-'));

beforeAll(async () => {
  provider = await openIdentityProvider({ base: ORIGIN });
  for (const [name, groups] of Object.entries(GROUPS))
    provider.accounts.set(`u-${name}`, { email: `${name}@example.com`, email_verified: true, groups: [...groups] });
  org = await startOrganization({
    devices: 40,
    rules: {
      ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve\nlimits: { max: 100, percent: 100 }'),
      guards: 'owners: [{ folder: ., groups: [security, endpoint-team] }]\n',
      approvals: 'approvals: [{ people: 2, groups: [security, endpoint-team] }]\n',
    },
    env: {
      ...provider.env,
      ...{ TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_MODE: 'approve' },
      TRUSTWARD_PUBLIC_URL: ORIGIN,
      TRUSTWARD_OIDC_SCOPES: 'security=approve, endpoint-team=approve, cloud-team=approve, staff=read',
    },
  });
  daemon = await startDaemon({ ...org.composition, clock });
});
afterAll(async () => {
  await daemon.stop();
  await org.close();
  await provider.close();
  rmSync(home, { recursive: true });
});

const visitor = () => {
  const request = (path: string, init: RequestInit) => fetch(`${daemon.url}${path}`, init);
  return new Visitor({ origin: ORIGIN, request });
};
async function atPage(name: Person): Promise<Visitor> {
  const person = visitor();
  expect((await person.signIn(`u-${name}`)).status).toBe(303);
  return person;
}

const from = (name: Person, ...args: string[]) =>
  command(args, { XDG_CONFIG_HOME: join(home, name), HOME: home, TRUSTWARD_ENDPOINT: daemon.url });
async function login(name: Person): Promise<void> {
  let shown = '';
  provider.lies.set('/device/auth', (body) => {
    shown = String(body.verification_uri_complete);
    return { ...body, interval: 1 };
  });
  const answered = from(name, 'login');
  while (shown === '') await clock.sleep(10);
  await visitor().entersCode(`u-${name}`, shown);
  expect((await answered).code).toBe(0);
}

/** Devices become compromised, Ana asks for a run, and its plan waits. */
async function planOf(...serials: string[]): Promise<PlanShown> {
  for (const serial of serials) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
  expect((await from('ana', 'run')).err).toBe('');
  return JSON.parse((await from('ana', 'plans', '--status', 'pending', '--format', 'json')).out).plans[0];
}

function answer(person: Visitor, verb: string, plan: PlanShown, more: Record<string, string> = {}) {
  const typed = plan.intents.length === 1 ? (plan.intents[0]?.target ?? '') : String(plan.intents.length);
  const fields = Object.entries({ digest: plan.digest, typed, ...more });
  const keys = plan.intents.map(({ key }): [string, string] => ['target', key]);
  return person.post(`/plans/${plan.id}/${verb}`, [...fields, ...keys]);
}

const pageOf = async (person: Visitor, path: string) => textOf(await (await person.open(path)).text());
const plain = (text: string) => text.replace(/\s+/g, ' ');
const banned = () => org.effects('device_banned').length;

it('two persons of different groups, one at the page and one from another machine, have a plan applied, and all that shows it names both', async () => {
  await login('ana');
  await login('ben');
  await login('dan');
  const plan = await planOf('BAD-1', 'BAD-2');
  const ana = await atPage('ana');
  expect(await pageOf(ana, `/plans/${plan.id}`)).toContain('2 yeses of security or endpoint-team');
  expect((await answer(ana, 'approve', plan)).status).toBe(303);
  expect(plain((await from('ben', 'plans', plan.id)).out)).toContain(
    'It needs one more yes of security or endpoint-team',
  );
  const digest = ['--digest', plan.digest];
  expect((await from('dan', 'approve', plan.id, ...digest)).err).toContain('belongs to security or endpoint-team');
  expect((await from('ana', 'approve', plan.id, ...digest)).err).toContain('ana@example.com has said yes already');
  expect(banned()).toBe(0);
  const said = await from('ben', 'approve', plan.id, ...digest, '--reason', 'seen');
  expect([said.code, said.err]).toEqual([0, '']);
  expect(banned()).toBe(2);
  for (const text of [
    (await from('ben', 'why', 'BAD-1')).out,
    (await from('ben', 'report')).out,
    await pageOf(ana, `/plans/${plan.id}`),
    await pageOf(ana, '/audit'),
  ]) {
    expect(text).toContain('ana@example.com');
    expect(text).toContain('ben@example.com');
  }
});

it('who lost the group says no second yes; who has a passkey is led to the page, and what it signed is named', async () => {
  await login('cleo');
  const [ana, cleo] = [await atPage('ana'), await atPage('cleo')];
  const key = new Authenticator(ORIGIN);
  const asked = async (given: Response) => JSON.parse(await given.text());
  const made = key.register(await asked(await cleo.post('/passkeys/begin', { name: 'phone' })));
  expect((await cleo.post('/passkeys', { name: 'phone', ...made })).status).toBe(303);
  const plan = await planOf('BAD-3');
  const digest = ['--digest', plan.digest];
  expect((await answer(ana, 'approve', plan)).status).toBe(303);
  const ben = provider.accounts.get('u-ben');
  if (ben) ben.groups = ['staff'];
  clock.advance(61_000);
  const late = await from('ben', 'approve', plan.id, ...digest);
  expect([late.code, late.err]).toEqual([2, expect.stringContaining('scope `approve` is needed')]);
  const shell = await from('cleo', 'approve', plan.id, ...digest);
  expect([shell.code, shell.err]).toEqual([1, expect.stringContaining('has a passkey, which this answer needs')]);
  expect(banned()).toBe(2);
  const touch = key.touch(await asked(await answer(cleo, 'touch/approve', plan)));
  expect((await answer(cleo, 'approve', plan, { touch })).status).toBe(303);
  while (banned() < 3) await clock.sleep(20);
  const words = 'cleo@example.com with a passkey';
  expect(await pageOf(cleo, `/plans/${plan.id}`)).toContain(words);
  expect((await from('cleo', 'why', 'BAD-3')).out).toContain(words);
  expect(plain((await from('cleo', 'report')).out)).toContain(words);
  expect((await command(['audit', 'verify'], org.env)).code).toBe(0);
});
