// commands: `open`, and the link in the welcome of `serve`: for the person at the terminal alone.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { browserOf, userHere } from '../../../src/faces/cli/daemon-client.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BIN } from '../../support/built.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { startTrustward } from '../../support/trustward.ts';

const LINK = /^http:\/\/127\.0\.0\.1:\d+\/sign-in\?code=[\w-]{43}\n$/;
const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

let org: Organization;
let daemon: Daemon | undefined;
let children: ChildProcess[];

beforeEach(async () => {
  children = [];
  org = await startOrganization({
    devices: 20,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

/** What the button of the page behind a link does: the cookie of the session. */
async function signIn(link: string): Promise<string> {
  const { origin, search } = new URL(link.trim());
  const answer = await fetch(`${origin}/sign-in`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: search.slice(1),
    redirect: 'manual',
  });
  return answer.headers.getSetCookie()[0]?.split(';')[0] as string;
}

/** The program at a terminal of its own: what it writes there. */
function atTerminal(args: string, env: Record<string, string> = {}) {
  const set = Object.entries(env).map(([name, value]) => `${name}='${value}' `);
  const program = `${set.join('')}${process.execPath} ${join(BIN, 'trustward')} ${args}`;
  const child = spawn('script', ['-qefc', program, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...org.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, said }));
  return { ended, says: (text: string) => until(() => said.includes(text)), said: () => said };
}

/** Polls for something that happens by itself; the test's own time limit bounds it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await systemClock.sleep(20);
}

describe('`open`', () => {
  it('prints a link of the running daemon alone, another one each time', async () => {
    daemon = await startDaemon(org.composition);
    const [first, second] = [await command(['open', '--print'], org.env), await command(['open'], org.env)];
    expect(first).toMatchObject({ code: 0, err: '', out: expect.stringMatching(LINK) });
    expect(second).toMatchObject({ code: 0, err: '', out: expect.stringMatching(LINK) });
    expect(first.out).not.toBe(second.out);
    expect(first.out.startsWith(daemon.url)).toBe(true);
  });

  it('signs in the person who gave the command, and as the token that it used for as long as that is good', async () => {
    daemon = await startDaemon(org.composition);
    const { url } = daemon;
    const person = await signIn((await command(['open'], org.env)).out);
    const token = (await command(['tokens', 'add', 'ci', '--scope', 'read'], org.env)).out.trim();
    const ci = await signIn((await command(['open'], { ...org.env, TRUSTWARD_TOKEN: token })).out);
    const page = (cookie: string) => fetch(`${url}/`, { headers: { cookie }, redirect: 'manual' });
    expect(await (await page(person)).text()).toContain(`${userHere()} (token admin)`);
    expect((await page(ci)).status).toBe(200);
    await command(['tokens', 'revoke', 'ci'], org.env);
    expect((await page(ci)).status).toBe(303);
    expect((await page(person)).status).toBe(200);
    expect(await (await page(await signIn((await daemon.signInLink('ana (page)')) ?? ''))).text()).toContain(
      'ana (page)',
    );
  });

  it('is refused with a token that is not good', async () => {
    daemon = await startDaemon(org.composition);
    const wrong = await command(['open'], { ...org.env, TRUSTWARD_TOKEN: 'wrong-token-0123456789' });
    expect(wrong).toMatchObject({ code: 2, out: '' });
  });

  it('names the public address, which the daemon then serves', async () => {
    await org.close();
    org = await startOrganization({
      devices: 20,
      env: {
        TRUSTWARD_LISTEN: '127.0.0.1:0',
        TRUSTWARD_SCHEDULE: '0 0 1 1 *',
        TRUSTWARD_PUBLIC_URL: 'https://trust.example.com/',
      },
    });
    daemon = await startDaemon(org.composition);
    expect((await command(['open'], org.env)).out).toMatch(
      /^https:\/\/trust\.example\.com\/sign-in\?code=[\w-]{43}\n$/,
    );
  });

  it('without a daemon says what to start', async () => {
    expect(await command(['open'], org.env)).toEqual({
      code: 1,
      out: '',
      err: 'trustward: no daemon runs on this database: start `trustward serve`\n',
    });
  });

  it.each([
    ['darwin', {}, 'open'],
    ['win32', {}, 'rundll32'],
    ['linux', { DISPLAY: ':0' }, 'xdg-open'],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
    ['linux', {}, undefined],
    ['linux', { DISPLAY: '' }, undefined],
  ] as const)('on %s with %j opens the browser by %s', (platform, env, program) => {
    expect(browserOf(platform, env)?.[0]).toBe(program);
  });

  it.skipIf(!hasScript)('opens the browser at a terminal with a desktop, and only there', async () => {
    daemon = await startDaemon(org.composition);
    const bin = join(org.dir, 'bin');
    const opened = join(org.dir, 'opened');
    mkdirSync(bin);
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`, {
      mode: 0o755,
    });
    const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':0' };
    const alone = { code: 0, said: expect.stringMatching(/^http:\S+\r\n$/) };
    expect(await atTerminal('open --print', env).ended).toMatchObject(alone);
    const { said } = await atTerminal('open', env).ended;
    await until(() => existsSync(opened));
    expect(readFileSync(opened, 'utf8').trim()).toBe(said.trim());
    expect(await atTerminal('open', { ...env, PATH: '/nowhere' }).ended).toMatchObject(alone);
  });
});

describe('the welcome of `serve`', () => {
  it('has no link in a pipe, and neither has the log', async () => {
    await org.composition.close();
    const started = startTrustward(['serve'], { ...org.env, TRUSTWARD_LOG_LEVEL: 'debug' });
    children.push(started.child);
    await started.says('Ctrl-C ends it.');
    const { out, err } = started.said();
    expect(out).toContain('trustward open');
    expect(out + err).not.toMatch(/sign-in|code=/);
  });

  it.skipIf(!hasScript)('has a link at a terminal, and the log has none', async () => {
    await org.composition.close();
    const log = join(org.dir, 'log');
    const { said, says } = atTerminal(`serve 2>${log}`, { TRUSTWARD_LOG_LEVEL: 'debug' });
    await says('Ctrl-C ends it.');
    expect(said()).toMatch(/Page +http:\/\/127\.0\.0\.1:\d+\/sign-in\?code=[\w-]{43} /);
    expect(readFileSync(log, 'utf8')).not.toContain('code=');
  });
});
