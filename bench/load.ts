// bench: the endpoint under load while whole runs over 100,000 devices go on, one after the other: requested runs and reads by autocannon, 500 open
// streams, ten minutes. Every acknowledged run is looked for afterwards, every stream must have shown every entry, and the daemon's memory must be
// flat. With `--short`: 10,000 devices, 50 streams, ten seconds. Wall time: run it with nothing else running.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { isShort, report } from './figures.ts';
import { rulesIn, started, warmFleet } from './processes.ts';

const sizes = isShort
  ? { devices: 10_000, streams: 50, loadS: 10, sampleMs: 500 }
  : { devices: 100_000, streams: 500, loadS: 600, sampleMs: 2_000 };
const STREAMS_OF_TOKEN = 50;
const READS = [
  '/api/runs?limit=50',
  '/api/runs/latest',
  '/api/decisions?limit=50',
  '/api/plans?limit=20',
  '/api/intents?limit=50',
  '/api/audit?limit=50',
  '/readyz',
];
/** Each asks again as soon as it is answered. */
const READERS = 10;
const POSTS_A_SECOND = 5;
const ADMIN = 'bench-token-of-enough-length-0123456789';
const bench = 'load';

const folder = mkdtempSync(join(tmpdir(), 'trustward-load-'));
const rules = rulesIn(folder);
const { fleet, api, key } = await warmFleet(sizes.devices);
const [daemon, [url = '']] = await started('./deaf/daemon.ts', [], {
  ...process.env,
  TRUSTWARD_API_URL: api,
  TRUSTWARD_API_KEY: key,
  TRUSTWARD_DB: join(folder, 'trustward.db'),
  TRUSTWARD_RULES: rules,
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_SCHEDULE: '*/5 * * * * *',
  TRUSTWARD_MODE: 'approve',
  TRUSTWARD_RATE_LIMIT: '0',
  TRUSTWARD_TOKEN: ADMIN,
  TRUSTWARD_LOG_LEVEL: 'error',
});
const agent = new Agent({ keepAlive: true });

function ask(method: string, path: string, token: string, body?: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { authorization: `Bearer ${token}` },
      agent: body || method === 'GET' ? agent : false,
    };
    request(`${url}${path}`, options, resolve)
      .once('error', reject)
      .end(body && JSON.stringify(body));
  });
}

async function json<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await ask(method, path, ADMIN, body);
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += piece;
  if ((answer.statusCode ?? 0) >= 400) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text) as T;
}

/** One client of the stream: the numbers of the entries that it was shown. */
class Shown {
  last = 0;
  first = 0;
  missed = 0;
  entries = 0;
  private rest = '';

  constructor(readonly answer: IncomingMessage) {
    answer.setEncoding('utf8').on('data', (text: string) => this.take(text));
  }

  private take(text: string): void {
    const frames = (this.rest + text).split('\n\n');
    this.rest = frames.pop() ?? '';
    for (const frame of frames) {
      const id = Number(/^id: (\d+)$/m.exec(frame)?.[1]);
      if (!id || !/^data: /m.test(frame)) continue;
      if (this.first === 0) this.first = id;
      else this.missed += Math.max(0, id - this.last - 1);
      this.last = id;
      this.entries += 1;
    }
  }
}

async function openStreams(): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let at = 0; at < sizes.streams; at += STREAMS_OF_TOKEN) {
    const { token } = await json<{ token: string }>('POST', '/api/tokens', { name: `stream-${at}`, scope: 'read' });
    const count = Math.min(STREAMS_OF_TOKEN, sizes.streams - at);
    const opened = Array.from({ length: count }, async () => {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        request(`${url}/api/stream`, { headers, agent: false }, resolve).once('error', reject).end();
      });
      if (answer.statusCode !== 200) throw new Error(`a stream: ${answer.statusCode}`);
      return new Shown(answer);
    });
    shown.push(...(await Promise.all(opened)));
  }
  return shown;
}

/** The resident memory of the daemon, MB. */
function residentMb(): number {
  const kB = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1];
  return Number(kB) / 1_000;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

try {
  await json('POST', '/api/runs', { mode: 'approve', wait: true });
  const shown = await openStreams();
  const acknowledged = new Set<string>();
  const statuses = new Map<string, number>();
  const count = (what: string, status: number) =>
    statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1);
  const auth = { authorization: `Bearer ${ADMIN}` };
  const common = { url, duration: sizes.loadS, timeout: 120, headers: auth };
  const posts = autocannon({
    ...common,
    connections: 4,
    overallRate: POSTS_A_SECOND,
    requests: [
      {
        method: 'POST',
        path: '/api/runs',
        body: JSON.stringify({ mode: 'dry-run' }),
        onResponse: (status, body) => {
          count('runs', status);
          if (status === 202) acknowledged.add((JSON.parse(body) as { id: string }).id);
        },
      },
    ],
  });
  const reads = autocannon({
    ...common,
    connections: READERS,
    requests: READS.map((path) => ({ method: 'GET', path, onResponse: (status) => count('reads', status) })),
  });
  const memory: number[] = [];
  const sampling = new AbortController();
  const sampled = (async () => {
    while (!sampling.signal.aborted) {
      memory.push(residentMb());
      await sleep(sizes.sampleMs, undefined, { signal: sampling.signal }).catch(() => {});
    }
  })();
  const [posted, read] = await Promise.all([posts, reads]);
  sampling.abort();
  await sampled;
  await untilIdle();

  const lost: string[] = [];
  let ended = 0;
  for (const id of acknowledged) {
    const { status } = await json<{ status: string }>('GET', `/api/runs/${id}`).catch(() => ({ status: 'lost' }));
    if (status === 'completed' || status === 'aborted') ended += 1;
    else lost.push(id);
  }
  const { head } = await json<{ head: { seq: number } }>('GET', '/api/audit?limit=1');
  await untilShown(shown, head.seq);
  const runs = await json<{ runs: { seq: number }[] }>('GET', '/api/runs?limit=1');
  const third = Math.floor(memory.length / 3);
  report({ bench, what: 'runs of all devices meanwhile', value: runs.runs[0]?.seq ?? 0, unit: '' });
  report({ bench, what: `acknowledged runs (of ${posted.requests.sent} requests)`, value: ended, unit: '' });
  report({ bench, what: 'acknowledged runs that are lost', value: lost.length, unit: '', atMost: 0 });
  report({ bench, what: `p50 of ${read.requests.sent} reads`, value: read.latency.p50, unit: 'ms' });
  report({ bench, what: 'p99 of reads', value: read.latency.p99, unit: 'ms', atMost: 250 });
  report({ bench, what: 'the slowest read', value: read.latency.max, unit: 'ms' });
  report({ bench, what: 'answers of status 5xx', value: posted['5xx'] + read['5xx'], unit: '', atMost: 0 });
  report({ bench, what: 'requests without an answer', value: posted.errors + read.errors, unit: '', atMost: 0 });
  report({
    bench,
    what: 'open streams at the end',
    value: shown.filter(({ answer }) => !answer.destroyed).length,
    unit: '',
    atLeast: sizes.streams,
  });
  report({ bench, what: 'events shown', value: shown.reduce((sum, { entries }) => sum + entries, 0), unit: '' });
  report({
    bench,
    what: 'events that a stream missed',
    value: shown.reduce((sum, { missed }) => sum + missed, 0),
    unit: '',
    atMost: 0,
  });
  report({ bench, what: 'memory, first third (median)', value: median(memory.slice(0, third)), unit: 'MB' });
  report({ bench, what: 'memory, last third (median)', value: median(memory.slice(-third)), unit: 'MB' });
  report({
    bench,
    what: 'memory, last third ÷ second third (medians)',
    value: median(memory.slice(-third)) / median(memory.slice(third, 2 * third)),
    unit: '×',
    ...(!isShort && { atMost: 1.1 }),
  });
  process.stdout.write(
    `${[...statuses].map(([what, n]) => `${what}: ${n}`).join(', ')}; load ${loadavg()[0]?.toFixed(1)}\n`,
  );
  for (const { answer } of shown) answer.destroy();
} finally {
  daemon.disconnect();
  await once(daemon, 'exit');
  fleet.disconnect();
  agent.destroy();
  rmSync(folder, { recursive: true, force: true });
}

async function untilIdle(): Promise<void> {
  await json('POST', '/api/runs', { mode: 'dry-run', wait: true });
}

/** Streams show an entry shortly after its commit. The schedule goes on meanwhile, so later entries may come too. */
async function untilShown(shown: Shown[], seq: number): Promise<void> {
  for (let turns = 0; turns < 100 && shown.some(({ last }) => last < seq); turns += 1) await sleep(100);
  const late = shown.filter(({ last }) => last < seq).length;
  report({ bench, what: 'streams that did not reach the last entry', value: late, unit: '', atMost: 0 });
}
