// test: a flood of random HTTP requests against the real daemon, as a process with the embedded console, while its schedule
// runs and an operator stops everything now and then. In: how much. Out: figures, and their line.
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isForMachines } from '../../../src/faces/http/mount.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { built } from '../../support/built.ts';
import { startTrustward } from '../../support/trustward.ts';
import { type FloodRequest, floodRequests, type Known } from './flood-requests.ts';

const ADMIN = 'admin-token-0123456789';
const CLIENTS = 16;

export interface FloodOptions {
  requests: number;
  /** The flood ends then, with as many requests as it made. */
  withinMs: number;
  seed: number;
  schedule: { cron: string; everyMs: number };
  /** Between two stops, on average. */
  stopEveryMs: number;
}

export interface FloodFigures {
  requests: number;
  tookMs: number;
  /** Answers by status. */
  statuses: Map<number, number>;
  /** Refusals and failures without problem details; those of a page's address may be a page. */
  bare: string[];
  /** As `/readyz` counts them, and the scheduled runs by their status. */
  schedule: { isOk: boolean; text: string; times: number; joined: number; expected: number; runs: Map<string, number> };
  stops: { status: number; ms: number }[];
}

export async function flood(options: FloodOptions): Promise<FloodFigures> {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-flood-'));
  const { child, said, says, ended } = startTrustward(['serve'], {
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    TRUSTWARD_HISTORY: '0d',
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: options.schedule.cron,
    TRUSTWARD_TOKEN: ADMIN,
    TRUSTWARD_LOG_LEVEL: 'error',
    // What a flood meets beyond it.
    TRUSTWARD_RATE_LIMIT: '0',
  });
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  try {
    await says('Ctrl-C ends it.');
    const url = /HTTP endpoint\s+(\S+)/.exec(said().out)?.[1] as string;
    const client = new Client(url, agent);
    const { token } = (await client.json('POST', '/api/tokens', { name: 'flood', scope: 'trigger' })) as {
      token: string;
    };
    const known = await knownOf(client);
    const stops = probeStops(url, options);
    const figures = await sendAll(client, token, known, options);
    return { ...figures, stops: await stops(), schedule: await scheduleOf(client, options.schedule.everyMs) };
  } finally {
    agent.destroy();
    child.kill('SIGTERM');
    const { err } = await ended;
    rmSync(dir, { recursive: true, force: true });
    if (err !== '') process.stderr.write(err);
  }
}

class Client {
  constructor(
    private readonly url: string,
    private readonly agent: Agent,
  ) {}

  /** Errors: the connection's. */
  send({ method, path, body }: FloodRequest, token: string): Promise<{ status: number; type: string; text: string }> {
    const headers = { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sending = request(this.url, { method, path, headers, agent: this.agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        const { statusCode = 0, headers: given } = answer;
        answer.once('end', () => resolve({ status: statusCode, type: given['content-type'] ?? '', text }));
        answer.once('error', reject);
      });
      sending.once('error', reject).end(body);
    });
  }

  async json(method: string, path: string, body?: object): Promise<unknown> {
    const request = { method, path, ...(body && { body: JSON.stringify(body) }) };
    return JSON.parse((await this.send(request, ADMIN)).text);
  }
}

/** After the first run, which a daemon begins at its start. */
async function knownOf(client: Client): Promise<Known> {
  await client.json('POST', '/api/runs', { mode: 'dry-run', wait: true });
  const { rules } = (await client.json('GET', '/api/rules')) as { rules: { id: string }[] };
  const { runs } = (await client.json('GET', '/api/runs')) as { runs: { id: string }[] };
  const { decisions } = (await client.json('GET', '/api/decisions?limit=200')) as {
    decisions: { subject: { id: string } }[];
  };
  return {
    rules: rules.map(({ id }) => id),
    runs: runs.map(({ id }) => id),
    subjects: [...new Set(decisions.map(({ subject }) => subject.id)), 'nobody'],
  };
}

async function sendAll(
  client: Client,
  token: string,
  known: Known,
  { requests, withinMs, seed }: FloodOptions,
): Promise<Pick<FloodFigures, 'requests' | 'tookMs' | 'statuses' | 'bare'>> {
  const make = floodRequests(seed, known);
  const statuses = new Map<number, number>();
  const bare: string[] = [];
  const beganMs = systemClock.monotonicMs();
  let sent = 0;
  const sendSome = async () => {
    while (sent < requests && systemClock.monotonicMs() - beganMs < withinMs) {
      sent += 1;
      const each = make();
      const { status, type } = await client.send(each, token);
      // On a busy machine the schedule falls behind, and it says so.
      if (status === 503 && each.path === '/readyz') continue;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const isRefusal = status >= 400 && each.method !== 'HEAD';
      if (isRefusal && type !== 'application/problem+json' && !isPage(each.path, type))
        bare.push(`${status} ${each.method} ${each.path.slice(0, 80)}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendSome));
  return { requests: sent, tookMs: systemClock.monotonicMs() - beganMs, statuses, bare };
}

/** A person who calls a wrong address reads a page. */
function isPage(path: string, type: string): boolean {
  return type === 'text/html; charset=utf-8' && !isForMachines(URL.parse(`http://localhost${path}`)?.pathname ?? path);
}

/** Returns a function that ends it. */
function probeStops(url: string, { seed, stopEveryMs }: FloodOptions): () => Promise<FloodFigures['stops']> {
  const workerData = { url, token: ADMIN, seed, pauseMs: stopEveryMs };
  const worker = new Worker(built('test/faces/http/stop-prober.ts'), { workerData });
  const answers = new Promise<FloodFigures['stops']>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  return () => {
    worker.postMessage('end');
    return answers;
  };
}

interface Ready {
  checks: { name: string; ok: boolean; text: string }[];
}

/** Once no scheduled run waits or is under way: all that was counted is then in the list of runs. */
async function scheduleOf(client: Client, everyMs: number): Promise<FloodFigures['schedule']> {
  for (;;) {
    const { checks } = (await client.json('GET', '/readyz')) as Ready;
    const nowMs = systemClock.nowMs();
    const { ok: isOk = false, text = '' } = checks.find(({ name }) => name === 'schedule') ?? {};
    const countIn = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
    const [times, joined] = [countIn(/(\d+) scheduled times?/), countIn(/(\d+) came while/)];
    const runs = await scheduledRuns(client);
    const done = [...runs.values()].reduce((sum, count) => sum + count, 0);
    const since = Date.parse(/since ([^;]+);/.exec(text)?.[1] ?? '');
    const expected = 1 + Math.floor(nowMs / everyMs) - Math.floor(since / everyMs);
    if (!runs.has('running') && done === times - joined) return { isOk, text, times, joined, expected, runs };
    await systemClock.sleep(50);
  }
}

async function scheduledRuns(client: Client): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let before: number | null | undefined; before !== null; ) {
    const page = (await client.json('GET', `/api/runs?limit=200${before ? `&before=${before}` : ''}`)) as {
      runs: { trigger: string; status: string }[];
      next: number | null;
    };
    for (const { trigger, status } of page.runs)
      if (trigger === 'schedule') found.set(status, (found.get(status) ?? 0) + 1);
    before = page.next;
  }
  return found;
}

export function figuresLine({ requests, tookMs, statuses, schedule, stops }: FloodFigures): string {
  const classes = new Map<string, number>();
  for (const [status, count] of statuses) {
    const name = status === 429 ? '429' : `${Math.floor(status / 100)}xx`;
    classes.set(name, (classes.get(name) ?? 0) + count);
  }
  const answers = [...classes].sort().map(([name, count]) => `${name} ${count}`);
  const ms = stops.map((stop) => stop.ms).sort((one, other) => one - other);
  const at = (share: number) => (ms[Math.floor((ms.length - 1) * share)] ?? 0).toFixed(1);
  const runs = [...schedule.runs].map(([status, count]) => `${count} ${status}`);
  return [
    `flood: ${requests} requests in ${(tookMs / 1_000).toFixed(0)} s (${answers.join(', ')})`,
    `schedule: ${schedule.expected} times by the clock, ${schedule.text}; runs: ${runs.join(', ')}`,
    `stop: ${stops.length} answers, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`,
  ].join('; ');
}
