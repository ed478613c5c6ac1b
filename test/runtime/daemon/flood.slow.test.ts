// test: a flood of requests with lesser tokens, against a daemon over loopback HTTP: the schedule and operators go on.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const ADMIN = 'admin-token-0123456789';

let org: Organization;
let daemon: Daemon;
let trigger: string;

async function start(env: Record<string, string> = {}): Promise<void> {
  org = await startOrganization({
    devices: 40,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_TOKEN: ADMIN, ...env },
  });
  org.console.faults?.set([{ kind: 'latency', match: { path: '/api/v1/devices' }, ms: 60 }]);
  daemon = await startDaemon(org.composition);
  const made = await ask('/api/tokens', { name: 'flood', scope: 'trigger' }, ADMIN);
  trigger = (made.json as { token: string }).token;
}
afterEach(async () => {
  await daemon.stop();
  await org.close();
});

interface Answered {
  status: number;
  json: unknown;
  headers: Headers;
}

async function ask(path: string, body?: object, token = trigger): Promise<Answered> {
  const answer = await fetch(`${daemon.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}` },
    body: body ? JSON.stringify(body) : null,
  });
  return { status: answer.status, json: await answer.json(), headers: answer.headers };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(20);
}

const runs = () => org.composition.engine.store.runs(1_000);
const runsOf = async (kind: string) => (await runs()).filter(({ trigger }) => trigger === kind);

async function scheduleCheck(): Promise<{ ok: boolean; text: string } | undefined> {
  const { checks } = (await ask('/readyz')).json as { checks: { name: string; ok: boolean; text: string }[] };
  return checks.find(({ name }) => name === 'schedule');
}

async function scheduleCounts(): Promise<{ times: number; joined: number }> {
  const text = (await scheduleCheck())?.text ?? '';
  const numberIn = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return { times: numberIn(/(\d+) scheduled times?/), joined: numberIn(/(\d+) came while/) };
}

describe('a flood with a `trigger` token', () => {
  it('refuses no scheduled run: each scheduled time has its run', async () => {
    await start({ TRUSTWARD_SCHEDULE: '* * * * * *' });
    const flood = { on: true };
    const statuses: number[] = [];
    const client = async () => {
      while (flood.on) {
        const { status } = await ask('/api/runs', { mode: 'enforce', wait: true });
        statuses.push(status);
        if (status !== 200) await systemClock.sleep(100);
      }
    };
    const clients = Array.from({ length: 25 }, client);
    await until(async () => (await runsOf('http')).length >= 12 && (await runsOf('schedule')).length >= 3);
    flood.on = false;
    await Promise.all(clients);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    // Each time that has passed by now; others come meanwhile.
    const { times, joined } = await scheduleCounts();
    await until(async () => (await runsOf('schedule')).length >= times - joined);
    const made = (await runsOf('schedule')).length;
    const later = await scheduleCounts();
    expect(made).toBeLessThanOrEqual(later.times - later.joined);
    expect(await scheduleCheck()).toMatchObject({ ok: true, text: expect.not.stringContaining('refused') });
  });

  it('gets a 429 with `Retry-After` beyond five waiting runs, and leaves places for other tokens', async () => {
    await start();
    const flood = Array.from({ length: 12 }, () => ask('/api/runs', { mode: 'enforce', wait: true }));
    const refused = (await Promise.race(
      flood.map(async (one) => ((await one).status === 429 ? one : never)),
    )) as Answered;
    expect(refused.json).toMatchObject({
      type: 'urn:trustward:problem:busy',
      detail: '5 requested runs of the token `flood` are already waiting: try again later',
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await ask('/api/runs', { mode: 'enforce' }, ADMIN)).status).toBe(202);
    await Promise.all(flood);
  });

  it('makes one run of equal dry runs that wait, and every asker gets it', async () => {
    await start();
    await until(async () => (await runs())[0]?.status === 'completed');
    const { store } = org.composition.engine;
    const begin = store.beginRun.bind(store);
    const [begun, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    store.beginRun = async (...given) => {
      const run = await begin(...given);
      begun.resolve();
      await asked.promise;
      return run;
    };
    const first = ask('/api/runs', { mode: 'enforce', wait: true });
    await begun.promise;
    const rules = ['ban-compromised-device'];
    const sent = arrivals(40);
    const equal = Array.from({ length: 30 }, (_, at) => ask('/api/runs', { mode: 'dry-run', wait: at % 2 === 0 }));
    const chosen = Array.from({ length: 10 }, () => ask('/api/runs', { mode: 'dry-run', rules }));
    await sent.promise;
    await systemClock.sleep(1_000); // from the socket to the queue
    asked.resolve();
    const ids = (answers: Answered[]) => [...new Set(answers.map(({ json }) => (json as { id: string }).id))];
    const [whole, some] = [ids(await Promise.all(equal)), ids(await Promise.all(chosen))];
    expect([whole.length, some.length]).toEqual([1, 1]);
    expect(whole).not.toEqual(some);
    await first;
  });

  it('goes after the commands of operators', async () => {
    await start();
    const flood = Array.from({ length: 6 }, () => ask('/api/runs', { mode: 'enforce', wait: true }));
    await until(async () => (await runsOf('http')).length > 0);
    const answer = await ask('/api/plans/none/reject', {}, ADMIN);
    expect(answer.status).toBe(404);
    expect((await runsOf('http')).length).toBeLessThanOrEqual(2);
    await Promise.all(flood);
  });
});

/** Resolves once so many requests for a run have arrived at the endpoint of this process. */
function arrivals(count: number): { promise: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  const note = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    if (request.method === 'POST' && request.url === '/api/runs') arrived += 1;
    if (arrived < count) return;
    unsubscribe('http.server.request.start', note);
    resolve();
  };
  subscribe('http.server.request.start', note);
  return { promise };
}

const never = new Promise<never>(() => {});

describe('a stop', () => {
  it('is answered before the run under way ends, with a full queue, and while an alert hangs', async () => {
    await start();
    await until(async () => (await runs())[0]?.status === 'completed');
    org.console.faults?.set([{ kind: 'latency', match: { path: '/api/v1/devices' }, ms: 60_000 }]);
    const flood = Array.from({ length: 12 }, () => ask('/api/runs', { mode: 'enforce', wait: true }).catch(() => {}));
    await until(async () => (await runs())[0]?.status === 'running');
    const { engine } = org.composition;
    const { afterwards } = engine;
    engine.afterwards = () => never;
    const { status } = await ask('/api/stop', { reason: 'a drill' }, ADMIN);
    engine.afterwards = afterwards as () => Promise<void>;
    expect({ status, run: (await runs())[0]?.status }).toEqual({ status: 200, run: 'running' });
    await daemon.stop();
    daemon = { ...daemon, stop: async () => {} };
    await Promise.all(flood);
  });
});
