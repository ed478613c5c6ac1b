// cli: commands on another machine, over a daemon and an identity provider on loopback: who signed in with `trustward login` has their own rights there, so
// long as the provider vouches for them, and nothing of a database here is opened.
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryBody } from '../../../src/domain/audit-entry.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { type IdentityProvider, openIdentityProvider, Visitor } from '../../support/identity-provider.ts';
import { type Answered, command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { movedClock } from '../../support/signing-in.ts';

const figures = { remote: 0, refused: 0 };
let org: Organization;
let daemon: Daemon;
let provider: IdentityProvider;
const clock = movedClock();
const home = mkdtempSync(join(tmpdir(), 'trustward-login-'));
const nowhere = join(home, 'none.db');

beforeAll(async () => {
  provider = await openIdentityProvider();
  provider.lies.set('/device/auth', (body) => ({ ...body, interval: 1 }));
  org = await startOrganization({
    devices: 40,
    compromised: 3,
    env: {
      ...{ TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_MODE: 'approve' },
      ...provider.env,
    },
  });
  daemon = await startDaemon({ ...org.composition, clock });
  provider.endsHere.send = (url, { method = 'POST', headers = {}, body = null }) =>
    fetch(`${daemon.url}${new URL(url).pathname}`, { method, headers, body });
});
afterAll(async () => {
  await daemon.stop();
  await org.close();
  await provider.close();
  rmSync(home, { recursive: true });
  const { remote, refused } = figures;
  process.stdout.write(
    `commands at a remote endpoint: ${remote}; endpoints and files of sessions refused: ${refused}\n`,
  );
});

/** A machine of this person, on which no database is. */
const machineOf = (person: string) => ({
  ...{ XDG_CONFIG_HOME: join(home, person), HOME: home, TRUSTWARD_DB: nowhere, TRUSTWARD_ENDPOINT: daemon.url },
});
type Says = (...args: string[]) => Promise<Answered>;
const at =
  (person: string, more: Record<string, string> = {}): Says =>
  (...args) =>
    command(args, { ...machineOf(person), ...more });

/** Signs in, and enters the code at the provider as this account. */
async function signIn(person: string, says: 'confirm' | 'abort' = 'confirm'): Promise<Answered> {
  let shown = '';
  provider.lies.set('/device/auth', (body) => {
    shown = String(body.verification_uri_complete);
    return { ...body, interval: 1 };
  });
  const login = at(person)('login');
  while (shown === '') await clock.sleep(10);
  const browser = new Visitor({ origin: daemon.url, request: (path, init) => fetch(`${daemon.url}${path}`, init) });
  await browser.entersCode(`u-${person}`, shown, says);
  return login;
}
const folder = (person: string) => join(home, person, 'trustward');
const fileOf = (person: string) => join(folder(person), readdirSync(folder(person))[0] ?? '');
const auditOf = async (kind: 'stop.set' | 'plan.approved' | 'session.began' | 'exemption.added') =>
  (await org.composition.engine.store.audit({ kind, limit: 50 })).map((entry) => entryBody(entry));

describe('who signed in from another machine', () => {
  it('sees where to enter which code, and has a session in a file that is theirs alone', async () => {
    const { code, out, err } = await signIn('ana');
    expect([code, out]).toEqual([0, expect.stringContaining(`signed in at ${daemon.url} as ana@example.com`)]);
    expect(err).toMatch(new RegExp(`${provider.settings.issuer}/device\n[^]*enter the code {2}[A-Z]{4}-[A-Z]{4}`));
    expect([statSync(fileOf('ana')).mode & 0o777, statSync(folder('ana')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect((await signIn('ben')).code).toBe(0);
  });

  it('reads, commands and acts there by the rights of their groups, and the audit has the person', async () => {
    const [ana, ben] = [at('ana'), at('ben')];
    while ((await org.composition.engine.store.latestRun())?.status !== 'completed') await clock.sleep(20);
    const [plan] = JSON.parse((await ben('plans', '--format', 'json')).out).plans;
    const [serial, other, third] = plan.intents.map(({ target }: { target: string }) => target);
    const reading: [string[], string][] = [
      [['inbox'], plan.id],
      [['plans'], plan.id],
      [['plans', plan.id], `ban_device ${serial}`],
      [['devices'], serial],
      [['decisions', '--target', serial], serial],
      [['runs'], 'completed'],
      [['report'], serial],
      [['summary'], 'RUNS'],
      [['audit', 'list'], 'ben@example.com'],
      [['claims', 'list'], 'no claims'],
      [['why', serial], serial],
      [['explain', 'ban-compromised-device', serial], 'ban-compromised-device'],
    ];
    for (const [args, says] of reading) {
      const { code, out, err } = await ben(...args);
      expect([args, code, err.trim(), out]).toEqual([args, 0, '', expect.stringContaining(says)]);
    }
    const writing = [
      ['stop', '--reason', 'a drill'],
      ['resume', '--reason', 'it was one'],
      ['exempt', 'add', 'device', other, '--until', '2d', '--owner', 'ana@example.com', '--reason', 'repair'],
      ['check', third],
      ['run', '--mode', 'dry-run'],
      ['approve', plan.id, '--only', serial, '--reason', 'seen'],
    ];
    for (const args of writing) {
      const needed = expect.stringMatching(/scope `\w+` is needed, and `ben@example.com` has `read`/);
      expect([args, await ben(...args)]).toEqual([args, { code: 2, out: '', err: needed }]);
    }
    for (const args of writing) {
      const { code, err } = await ana(...args);
      expect([args, code, err]).toEqual([args, 0, '']);
    }
    const by = `ana@example.com (u-ana at ${provider.settings.issuer})`;
    expect(await auditOf('stop.set')).toMatchObject([{ by }]);
    expect(await auditOf('plan.approved')).toMatchObject([{ by }]);
    const began = (await auditOf('session.began')) as { scope: string }[];
    expect(began.map(({ scope }) => scope).sort()).toEqual(['approve', 'read']);
    figures.remote = reading.length + 2 * writing.length;
  });

  it('asks at a terminal before a plan is approved there, with what it holds', async () => {
    const [plan] = JSON.parse((await at('ana')('plans', '--status', 'pending', '--format', 'json')).out).plans;
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'n';
    };
    const { code, err } = await command(['approve', plan.id], machineOf('ana'), { ask });
    expect([code, asked, err]).toEqual([
      3,
      ['approve? [y/N] '],
      expect.stringContaining(`ban_device ${plan.intents[0].target}`),
    ]);
  });

  it('approves nothing there while they have a passkey, and is told where to answer', async () => {
    const { store } = org.composition.engine;
    const [plan] = JSON.parse((await at('ana')('plans', '--status', 'pending', '--format', 'json')).out).plans;
    const person = { issuer: provider.settings.issuer, sub: 'u-ana', email: 'ana@example.com', name: 'laptop' };
    const key = { id: 'AAAA', publicKey: 'AAAA', origin: 'https://trust.example.com', counter: 0 };
    const passkey = { ...person, ...key, addedAt: 0, removedAt: undefined, usedAt: undefined };
    await store.savePasskey(passkey, { kind: 'passkey.added', body: { passkey: key.id } });
    const refused = await at('ana')('approve', plan.id, '--digest', plan.digest);
    const words =
      'ana@example.com has a passkey, which this answer needs: answer on the page of the plan, where the browser asks for it; that needs JavaScript';
    expect([refused.code, refused.err]).toEqual([1, `trustward: ${daemon.url} answered: ${words}\n`]);
    expect((await store.plan(plan.id))?.status).toBe('pending');
  });

  it('has no right any more once the group is lost, between two commands', async () => {
    const ana = provider.accounts.get('u-ana');
    if (ana) ana.groups = ['staff'];
    clock.advance(61_000);
    expect((await at('ana')('inbox')).code).toBe(0);
    const refused = await at('ana')('stop', '--reason', 'too late');
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('scope `approve` is needed, and `ana@example.com` has `read`'),
    ]);
    expect(await auditOf('stop.set')).toHaveLength(1);
  });

  it('is signed out where the provider says so, and is told how to sign in again', async () => {
    await provider.logsOut('u-ana', undefined);
    const ended = await at('ana')('inbox');
    expect([ended.code, ended.err]).toEqual([
      2,
      `trustward: your session at ${daemon.url} has ended: sign in again: \`trustward login\`\n`,
    ]);
    expect((await at('ben')('inbox')).code).toBe(0);
    const [file, session] = [fileOf('ben'), JSON.parse(readFileSync(fileOf('ben'), 'utf8')).session];
    expect((await at('ben')('logout')).out).toBe(`signed out at ${daemon.url}: ben@example.com\n`);
    expect(existsSync(file)).toBe(false);
    const headers = { authorization: `Bearer ${session}` };
    expect((await fetch(`${daemon.url}/api/inbox`, { headers })).status).toBe(401);
  });

  it('is told of a no at the provider, and of what no endpoint does; nothing here was opened', async () => {
    const denied = await signIn('ben', 'abort');
    expect([denied.code, denied.err]).toEqual([2, expect.stringContaining('somebody said no at')]);
    for (const args of [
      ['db', 'backup', join(home, 'b.db')],
      ['doctor'],
      ['audit', 'verify'],
      ['replay'],
      ['notifications'],
    ]) {
      const { code, err } = await at('ben')(...args);
      expect([args, code, err.split('\n').length, err]).toEqual([
        args,
        2,
        2,
        expect.stringContaining('needs the database itself'),
      ]);
    }
    expect((await at('ben')('open')).err).toContain('open the address of the endpoint in a browser');
    expect((await at('ben')('inbox', '--db', 'a.db', '--endpoint', daemon.url)).err).toContain(
      'leave out one of the two',
    );
    expect([existsSync(nowhere), existsSync(join(home, 'b.db'))]).toEqual([false, false]);
  });
});

describe('an endpoint that is none, or leads astray', () => {
  let server: Server;
  let answer: (response: ServerResponse, sent: (bytes: number) => void) => void = () => {};
  const asked: string[] = [];
  let bytes = 0;
  beforeAll(async () => {
    await signIn('ben');
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
      answer(response, (count) => {
        bytes += count;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());
  const there = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gigabyte: typeof answer = (response, sent) => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    let left = 1_024;
    const more = (): void => {
      if (left === 0 || response.destroyed) return void response.end();
      left -= 1;
      sent(chunk.length);
      response.write(chunk) ? setImmediate(more) : response.once('drain', more);
    };
    more();
  };

  it.each([
    ['plain text over a network', () => 'http://trust.example.com', 'in clear text'],
    ['no address', () => 'trust.example.com', 'is no address'],
    ['a password', () => 'https://me:secret@trust.example.com', 'leave it out'],
    ['nobody there', () => 'http://127.0.0.1:9', 'does not answer'],
  ])('%s is refused in one line', async (_, url, words) => {
    const { code, out, err } = await at('ben')('login', '--endpoint', url());
    expect([code > 0, out, err.split('\n').length, err]).toEqual([true, '', 2, expect.stringContaining(words)]);
    expect(err).not.toContain('secret');
    figures.refused += 1;
  });

  it('a session goes to the address alone that it was made at', async () => {
    answer = (response) => void response.writeHead(302, { location: `${there()}/elsewhere` }).end();
    const other = await at('ben', { TRUSTWARD_ENDPOINT: there() })('inbox');
    expect([other.code, other.err]).toEqual([2, expect.stringContaining('you are not signed in at')]);
    expect(asked).toEqual([]);
    const led = await at('ben', { TRUSTWARD_ENDPOINT: there(), TRUSTWARD_TOKEN: 'a-token-0123456789' })('inbox');
    expect([led.code, led.err]).toEqual([
      1,
      expect.stringContaining(`leads to \`${there()}/elsewhere\`, and nothing is sent there`),
    ]);
    expect(asked).toEqual(['GET /api/inbox?limit=50 Bearer a-token-0123456789']);
    figures.refused += 2;
  });

  it('HTML, and a gigabyte, are not taken for an answer', async () => {
    answer = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>');
    const token = { TRUSTWARD_ENDPOINT: there(), TRUSTWARD_TOKEN: 'a-token-0123456789' };
    expect((await at('ben', token)('inbox')).err).toContain('is it Trustward, and as new?');
    expect((await at('ben', token)('login')).err).toContain('is it Trustward, and as new?');
    answer = gigabyte;
    expect((await at('ben', token)('login')).err).toContain('gave an answer of more than 65536 bytes');
    expect(bytes).toBeLessThan(32 * 1024 * 1024);
    figures.refused += 3;
  });

  it('a file of a session that others can read, or of another endpoint, is refused with what to do', async () => {
    const file = fileOf('ben');
    const before = readFileSync(file, 'utf8');
    chmodSync(file, 0o644);
    const wide = await at('ben')('inbox');
    expect([wide.code, wide.err]).toEqual([2, expect.stringContaining(`run \`chmod 600 ${file}\``)]);
    chmodSync(file, 0o600);
    expect((await at('ben')('inbox')).code).toBe(0);
    for (const text of [
      before.replace(daemon.url, 'https://evil.example.com'),
      '',
      '[]',
      before.replace('login-', 'x\\r\\n'),
    ]) {
      writeFileSync(file, text);
      expect((await at('ben')('inbox')).err).toContain('holds no session of');
      figures.refused += 1;
    }
    figures.refused += 1;
  });
});
