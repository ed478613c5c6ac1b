// bench: whether a daemon answers while it works: the delay of its event loop, `/healthz` asked from outside every 20 ms, and a stop, during
// the first run over 100,000 devices, the next one, and one that seals a plan of 10,000 actions. The fleet and the daemon are processes of
// their own. Usage: npm run bench -- deaf. Goals: issue "Never deaf".
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isShort, report } from './figures.ts';
import { rulesIn, started, warmFleet } from './processes.ts';

const DEVICES = isShort ? 10_000 : 100_000;
const PLANNED = DEVICES / 10;
const PROBE_EVERY_MS = 20;
const STOP_EVERY_MS = isShort ? 500 : 1_500;
const TOKEN = 'bench-token-0123456789';

const folder = mkdtempSync(join(tmpdir(), 'trustward-deaf-'));
const rules = rulesIn(folder);

const agent = new Agent({ keepAlive: true });

function send(method: string, url: string, body?: object): Promise<{ ms: number; text: string }> {
  const since = performance.now();
  const headers = { authorization: `Bearer ${TOKEN}` };
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, headers, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.once('end', () => resolve({ ms: performance.now() - since, text }));
    });
    // The daemon closed the connection, idle for long, just when it was used again.
    const failed = (error: NodeJS.ErrnoException) =>
      sending.reusedSocket && error.code === 'ECONNRESET' ? resolve(send(method, url, body)) : reject(error);
    sending.once('error', failed).end(body && JSON.stringify(body));
  });
}

const at = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * part) - 1)] ?? Number.NaN;

/** Probes and stops until the work is over. */
async function measured(what: string, daemon: ChildProcess, url: string, work: () => Promise<unknown>): Promise<void> {
  const [health, stops]: [number[], number[]] = [[], []];
  const began = performance.now();
  let isOver = false;
  const probing = (async () => {
    const asked: Promise<unknown>[] = [];
    while (!isOver) {
      asked.push(send('GET', `${url}/healthz`).then(({ ms }) => health.push(ms)));
      await sleep(PROBE_EVERY_MS);
    }
    await Promise.all(asked);
  })();
  const stopping = (async () => {
    for (;;) {
      await sleep(STOP_EVERY_MS); // not while the run reads what is in force: it is to decide as without a stop
      if (isOver) return;
      stops.push((await send('POST', `${url}/api/stop`, { reason: 'a drill' })).ms);
      await send('POST', `${url}/api/resume`, { reason: 'a drill' });
    }
  })();
  await work();
  isOver = true;
  await Promise.all([probing, stopping]);
  const ms = performance.now() - began;
  daemon.send('read');
  const [{ p999, max, turnMs }] = (await once(daemon, 'message')) as [Record<'p999' | 'max' | 'turnMs', number>];
  const say = (name: string, value: number, atMost?: number) =>
    report({ bench: 'deaf', what: `${what}: ${name}`, value, unit: 'ms', ...(atMost !== undefined && { atMost }) });
  say('took', ms);
  say('event loop delay, p99.9', p999, 50);
  say('event loop delay, maximum', max);
  say('longest turn, processor time', turnMs, 50);
  say(`/healthz of ${health.length}, p99`, at(health, 0.99), 100);
  if (stops.length > 0) say(`a stop of ${stops.length}, the slowest`, at(stops, 1), 100);
}

const { fleet, api, key } = await warmFleet(DEVICES);
const [daemon, [url]] = await started('./deaf/daemon.ts', [], {
  ...process.env,
  TRUSTWARD_API_URL: api,
  TRUSTWARD_API_KEY: key,
  TRUSTWARD_DB: join(folder, 'trustward.db'),
  TRUSTWARD_RULES: rules,
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_SCHEDULE: '0 0 1 1 *',
  TRUSTWARD_MODE: 'approve',
  TRUSTWARD_TOKEN: TOKEN,
  TRUSTWARD_LOG_LEVEL: 'error',
});
const address = url as string;
const run = () => send('POST', `${address}/api/runs`, { mode: 'approve', wait: true });

await measured('the first run', daemon, address, async () => {
  while ((await runs()).some(({ status }) => status === 'running')) await sleep(200);
});
await measured('the next run', daemon, address, run);
writeFileSync(join(rules, 'many.json'), manyRule());
await measured(`a run that plans ${PLANNED} more`, daemon, address, async () => {
  while (!(await send('GET', `${address}/api/rules`)).text.includes('bench-many')) await sleep(200);
  await run();
});
const last = (await runs())[0];
report({ bench: 'deaf', what: 'runs over', value: (await runs()).length, unit: '' });
if (last?.status !== 'completed') throw new Error(`the last run did not complete: ${JSON.stringify(last)}`);
daemon.disconnect();
fleet.disconnect();
agent.destroy();
rmSync(folder, { recursive: true, force: true });

async function runs(): Promise<{ status: string }[]> {
  const found = JSON.parse((await send('GET', `${address}/api/runs?limit=5`)).text) as { runs: { status: string }[] };
  return found.runs;
}

/** Matches a tenth of the fleet. */
function manyRule(): string {
  const when = { '<': [{ var: 'TrustData.EntityTrustscore' }, 46] };
  const limits = { max: DEVICES, percent: 100 };
  const tests = [{ name: 'sample', given: {}, expect: 'no_match' }];
  const named = { id: 'bench-many', title: 'Many', severity: 'high', subject: 'device' };
  return JSON.stringify({ ...named, when, then: 'ban_device', mode: 'approve', owners: 'all', limits, tests });
}
