// bench: time to contain: from a device's event to its ban in the console's list of effects. A console of 100,000 devices that answers 50 ms
// late and the real daemon, each in a process of its own. 1,000 devices become compromised at once, then 200 at random moments within two
// minutes, and 200 more that a signal names. With `--signals`: those alone. With `--short`: 2,000 devices, of which 12 and 12, then none. Wall time: run it with nothing else running.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSigningKey, signSet } from '../src/signals/set.ts';
import { BAN_RULE } from './contain/ban-rule.ts';
import type { Compromise, Seen, Told } from './contain/console.ts';
import { isShort, report } from './figures.ts';

const LATENCY_MS = 50;
const CONCURRENCY = 8;
const sizes = isShort
  ? { devices: 2_000, watchMs: 1_000, idleMs: 3_000, trickle: { count: 12, withinMs: 6_000 }, burst: 0 }
  : { devices: 100_000, watchMs: 10_000, idleMs: 60_000, trickle: { count: 200, withinMs: 120_000 }, burst: 1_000 };
/** The whole runs' period: all happens before the second one. */
const PERIOD_MIN = 10;

const dir = mkdtempSync(join(tmpdir(), 'trustward-contain-'));
const children: ChildProcess[] = [];

function start(args: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const stdio: ('ignore' | 'pipe' | 'inherit' | 'ipc')[] = ['ignore', 'pipe', 'inherit', 'ipc'];
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { stdio, env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  return line;
}

const pathOf = (file: string) => new URL(file, import.meta.url).pathname;
const platform = start([pathOf('./contain/console.ts'), String(sizes.devices), String(LATENCY_MS)]);
const [, url, key] = (await firstLine(platform)).split(' ') as [string, string, string];

const compromise = (what: Compromise) => platform.send(what);
async function seen(): Promise<Seen> {
  platform.send('seen');
  for (;;) {
    const [answer] = (await once(platform, 'message')) as [Seen | Told];
    if ('bannedAt' in answer) return answer;
  }
}

mkdirSync(join(dir, 'rules'));
writeFileSync(join(dir, 'rules', 'ban.json'), JSON.stringify(BAN_RULE));
const [ISSUER, AUDIENCE] = ['https://idp.example.com', 'https://trustward.example.com'];
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signing = await readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
const idp = {
  ...{ issuer: ISSUER, audience: AUDIENCE, jwks: { file: 'idp.jwks' }, delivery: 'push' },
  subjects: { device: 'device_id' },
};
writeFileSync(join(dir, 'rules', 'signals.json'), JSON.stringify({ transmitters: { idp } }));
writeFileSync(join(dir, 'idp.jwks'), JSON.stringify({ keys: [signing.publicKey] }));
const PORT = 20_000 + (process.pid % 20_000);

/** The next whole run comes a whole period after the first. */
function schedule(): string {
  const now = new Date();
  const minutes = Array.from({ length: 60 / PERIOD_MIN }, (_, i) => (now.getMinutes() % PERIOD_MIN) + PERIOD_MIN * i);
  return `${now.getSeconds()} ${minutes.join(',')} * * * *`;
}

const daemon = start([pathOf('../src/main.ts'), 'serve'], {
  TRUSTWARD_API_URL: url,
  TRUSTWARD_API_KEY: key,
  TRUSTWARD_DB: join(dir, 'trustward.db'),
  TRUSTWARD_RULES: join(dir, 'rules'),
  TRUSTWARD_MODE: 'enforce',
  TRUSTWARD_SCHEDULE: schedule(),
  TRUSTWARD_WATCH: `${sizes.watchMs / 1_000}s`,
  TRUSTWARD_ACT_CONCURRENCY: String(CONCURRENCY),
  TRUSTWARD_LISTEN: `127.0.0.1:${PORT}`,
  TRUSTWARD_SIGNALS: dir,
  TRUSTWARD_TOKEN: 'bench-token-of-enough-length-0123456789',
  TRUSTWARD_LOG_LEVEL: 'warn',
});
daemon.stdout?.resume();

/** Until the console has seen this; looks at what it saw every half second. */
async function until(isSo: (what: Seen) => boolean, withinMs: number): Promise<Seen> {
  for (const end = performance.now() + withinMs; ; ) {
    const what = await seen();
    if (isSo(what)) return what;
    if (performance.now() > end) throw new Error(`it did not happen within ${withinMs} ms`);
    await sleep(500);
  }
}

/** Not a lookup of one device. */
const isList = (path: string) =>
  /\/devices(\?|$)/.test(path) && !/serial|deviceid|[?&]id=/i.test(path.replace(/OrderBy=\w+/i, ''));
const at = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] as number;
const spans = ({ compromisedAt, bannedAt }: Seen, from: number): number[] =>
  Object.entries(compromisedAt)
    .slice(from)
    .map(([id, atMs]) => ((bannedAt[id] as number) - atMs) / 1_000);
const bench = 'contain';
/** After a burst, looks rest until the next whole run: signals are measured by themselves then. */
const isOfSignals = process.argv.includes('--signals');

try {
  await wholeRun();
  await idle();
  if (sizes.burst > 0 && !isOfSignals) await burst();
  if (!isOfSignals) await trickle();
  await signals();
  process.stdout.write(`load ${loadavg()[0]?.toFixed(1)}\n`);
} finally {
  daemon.kill('SIGTERM');
  await once(daemon, 'exit');
  for (const child of children) if (child.connected) child.disconnect();
  rmSync(dir, { recursive: true, force: true });
}

/** A whole run: until no list is asked for any more. */
async function wholeRun(): Promise<void> {
  let lists = -1;
  await until(({ requests }) => {
    const now = requests.filter(({ path }) => isList(path)).length;
    const isOver = now > 0 && now === lists;
    lists = now;
    return isOver;
  }, 120_000);
}

async function idle(): Promise<void> {
  await sleep(2 * sizes.watchMs);
  const before = (await seen()).requests.length;
  await sleep(sizes.idleMs);
  const asked = (await seen()).requests.length - before;
  const perMinute = (asked * 60_000) / sizes.idleMs;
  const most = 7 * (10_000 / sizes.watchMs);
  report({ bench, what: 'requests a minute while nothing happens', value: perMinute, unit: '/min', atMost: most });
}

async function trickle(): Promise<void> {
  const { count, withinMs } = sizes.trickle;
  compromise(sizes.trickle);
  const all = await until(
    ({ bannedAt }) => Object.keys(bannedAt).length >= sizes.burst + count,
    withinMs + 6 * sizes.watchMs + 60_000,
  );
  const times = spans(all, sizes.burst);
  const period = sizes.watchMs / 1_000;
  report({
    bench,
    what: `event to ban, ${count} devices: median`,
    value: at(times, 0.5),
    unit: 's',
    atMost: period / 2 + 1,
  });
  report({ bench, what: `event to ban, ${count} devices: p95`, value: at(times, 0.95), unit: 's', atMost: period + 2 });
  report({ bench, what: `event to ban, ${count} devices: the longest`, value: Math.max(...times), unit: 's' });
}

/** The same without events: a signal names each device. From the 202 to the ban. */
async function signals(): Promise<void> {
  const { count, withinMs } = sizes.trickle;
  const acceptedAt: Record<string, number> = {};
  const push = async (id: string) => {
    const subject = { format: 'complex', device: { format: 'opaque', id } };
    const events = { 'https://schemas.openid.net/secevent/caep/event-type/device-compliance-change': {} };
    const claims = {
      iss: ISSUER,
      aud: AUDIENCE,
      iat: Math.floor(Date.now() / 1_000),
      jti: id,
      sub_id: subject,
      events,
    };
    const body = await signSet(claims, signing);
    const headers = { 'content-type': 'application/secevent+jwt' };
    const { status } = await fetch(`http://127.0.0.1:${PORT}/signals/idp`, { method: 'POST', headers, body });
    if (status !== 202) throw new Error(`the signal about ${id} was answered with ${status}`);
    acceptedAt[id] = Date.now();
  };
  platform.on('message', (what: Seen | Told) => {
    if ('told' in what) void push(what.told);
  });
  compromise({ ...sizes.trickle, isTold: true });
  const { bannedAt } = await until(
    ({ bannedAt }) =>
      Object.keys(acceptedAt).length >= count && Object.keys(acceptedAt).every((id) => bannedAt[id] !== undefined),
    withinMs + 60_000,
  );
  const times = Object.entries(acceptedAt).map(([id, atMs]) => ((bannedAt[id] as number) - atMs) / 1_000);
  const what = `signal to ban, ${count} devices`;
  report({ bench, what: `${what}: median`, value: at(times, 0.5), unit: 's' });
  report({ bench, what: `${what}: p95`, value: at(times, 0.95), unit: 's', atMost: 2 });
  report({ bench, what: `${what}: the longest`, value: Math.max(...times), unit: 's' });
}

/** The first run has begun a period of the schedule: one more whole run may be made in it. */
async function burst(): Promise<void> {
  const run = (await seen()).requests.filter(({ path }) => isList(path));
  const wholeMs = (run.at(-1)?.atMs ?? 0) - (run[0]?.atMs ?? 0) + LATENCY_MS;
  compromise({ count: sizes.burst, withinMs: 0 });
  const all = await until(({ bannedAt }) => Object.keys(bannedAt).length >= sizes.burst, 180_000);
  const times = spans(all, 0);
  const firstEvent = Math.min(...Object.values(all.compromisedAt));
  const look = all.requests.find(({ path, atMs }) => path.includes('/events') && atMs >= firstEvent);
  const lookedMs = (look?.atMs ?? firstEvent) - firstEvent;
  const ideal = (sizes.burst * 3 * LATENCY_MS) / CONCURRENCY / 1_000;
  const goal = wholeMs / 1_000 + 1.25 * ideal;
  const longest = Math.max(...times);
  const what = `${sizes.burst} at once: the last ban`;
  report({ bench, what: 'reading the lists of a whole run', value: wholeMs / 1_000, unit: 's' });
  report({
    bench,
    what: `${what}, from the look that saw them`,
    value: longest - lookedMs / 1_000,
    unit: 's',
    atMost: goal,
  });
  report({ bench, what: `${what}, from the event`, value: longest, unit: 's' });
}
