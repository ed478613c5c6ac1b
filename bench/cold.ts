// bench: runs as processes of their own, of what was built, with the settings that a user has: the first run of a database and the one after it, each
// as a ratio to the floor (the same records downloaded in pages and parsed with JSON.parse, also a process of its own), by turns; and the most memory
// of each by the kernel, and of a daemon that does both. Usage: npm run bench -- cold [DEVICES]. Goals: issue "Light".
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/postgres-cluster.ts';
import { isShort, report } from './figures.ts';
import { rulesIn, warmFleet } from './processes.ts';

const DEVICES = Number(process.argv.slice(2).find((arg) => /^\d+$/.test(arg)) ?? (isShort ? 10_000 : 100_000));
const ROUNDS = isShort || DEVICES > 200_000 ? 3 : 5;
const MAIN = new URL('../dist/main.js', import.meta.url).pathname;
const TOKEN = 'bench-token-0123456789';

// Node reads their types away: a loader would be part of what is measured.
const PEAK = new URL('./cold/peak.ts', import.meta.url).href;
const FLOOR = new URL('./cold/floor.ts', import.meta.url).pathname;

const folder = mkdtempSync(join(tmpdir(), 'trustward-cold-'));
const rules = rulesIn(folder);
const { fleet, api, key } = await warmFleet(DEVICES);

const environment = (dir: string) => ({
  PATH: process.env.PATH,
  TRUSTWARD_API_URL: api,
  TRUSTWARD_API_KEY: key,
  TRUSTWARD_DB: join(dir, 'trustward.db'),
  TRUSTWARD_RULES: rules,
  TRUSTWARD_LOG_LEVEL: 'error',
});

interface Measured {
  ms: number;
  peakMiB: number;
}

async function measured(args: string[], env: NodeJS.ProcessEnv): Promise<Measured> {
  const since = performance.now();
  const child = spawn(process.execPath, ['--import', PEAK, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  let kB = '';
  child.stdio[3]?.on('data', (piece) => {
    kB += piece;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return { ms: performance.now() - since, peakMiB: Number(kB) / 1024 };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** The most memory of a daemon after its first run and two more. */
async function daemonPeak(more: NodeJS.ProcessEnv = {}): Promise<number> {
  const dir = mkdtempSync(join(folder, 'daemon-'));
  const port = await freePort();
  const env = { ...environment(dir), TRUSTWARD_LISTEN: `127.0.0.1:${port}`, TRUSTWARD_SCHEDULE: '0 0 1 1 *' };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...env, ...more, TRUSTWARD_MODE: 'dry-run', TRUSTWARD_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers }).then((answer) => answer.json() as Promise<unknown>);
  const completed = async () => {
    const found = (await ask('/api/runs?limit=9').catch(() => ({ runs: [] }))) as { runs: { status: string }[] };
    return found.runs.filter(({ status }) => status === 'completed').length;
  };
  while ((await completed()) < 1) await sleep(200);
  for (let round = 0; round < 2; round += 1)
    await ask('/api/runs', { method: 'POST', body: JSON.stringify({ mode: 'dry-run', wait: true }) });
  const [, kB = ''] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  child.kill('SIGTERM');
  await once(child, 'close');
  return Number(kB) / 1024;
}

const load = () => (loadavg()[0] as number).toFixed(1);
const before = load();
const turns: { floor: Measured; first: Measured; cold: Measured }[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const dir = join(folder, `round-${round}`);
  mkdirSync(dir);
  const run = [MAIN, 'run', '--mode', 'dry-run'];
  const floor = await measured([FLOOR, api, String(DEVICES)], process.env);
  const first = await measured(run, environment(dir));
  const cold = await measured(run, environment(dir));
  rmSync(dir, { recursive: true, force: true });
  turns.push({ floor, first, cold });
}
const daemons =
  DEVICES > 200_000 ? undefined : { plain: await daemonPeak(), asUnit: await daemonPeak({ MALLOC_ARENA_MAX: '2' }) };
fleet.disconnect();
rmSync(folder, { recursive: true, force: true });

const ms = (of: 'floor' | 'first' | 'cold') => median(turns.map((turn) => turn[of].ms));
const ratio = (of: 'first' | 'cold') => median(turns.map((turn) => turn[of].ms / turn.floor.ms));
const peak = (of: 'first' | 'cold') => median(turns.map((turn) => turn[of].peakMiB));
process.stdout.write(
  `${DEVICES} devices, 50 rules, ${ROUNDS} rounds, load ${before} to ${load()}: floor ${ms('floor').toFixed(0)} ms, first run ${ms('first').toFixed(0)} ms, next process ${ms('cold').toFixed(0)} ms\n`,
);
const say = (what: string, value: number, unit: string, atMost: number) =>
  report({ bench: 'cold', what: `${DEVICES} devices: ${what}`, value, unit, atMost });
say('first run of a database, own process ÷ floor', ratio('first'), '×', 5);
say('run as its own process ÷ floor, unchanged fleet', ratio('cold'), '×', 3);
say('peak memory of the first run', peak('first'), 'MiB', DEVICES > 200_000 ? 700 : 400);
say('peak memory of a run as its own process', peak('cold'), 'MiB', DEVICES > 200_000 ? 700 : 400);
if (daemons) {
  say('peak memory of a daemon after three runs', daemons.plain, 'MiB', 400);
  say('the same as the image and the units start it', daemons.asUnit, 'MiB', 400);
}
