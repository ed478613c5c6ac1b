// bench: a console whose every answer takes some milliseconds longer, in a process of its own. argv: devices, latency in ms. Its parent asks
// it to compromise devices, each with an event, and for the effects. Prints `READY <url> <api key>`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';

export interface Compromise {
  count: number;
  /** Spread at random over this time; 0: at once. */
  withinMs: number;
  /** The log has no event of it: the parent is told, and sends a signal. */
  isTold?: boolean;
}

/** The id of a device that was compromised just now. */
export interface Told {
  told: string;
}

/** When the devices' events were written, when they were banned, by device, epoch ms; and the requests of the client so far. */
export interface Seen {
  compromisedAt: Record<string, number>;
  bannedAt: Record<string, number>;
  requests: { atMs: number; path: string }[];
}

const [devices, latencyMs] = process.argv.slice(2).map(Number) as [number, number];
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const folder = mkdtempSync(join(tmpdir(), 'trustward-contain-'));
const server = await startConsole({
  dbFile: join(folder, 'console.db'),
  seed: { seed: 1, devices, users: Math.ceil(devices / 2), services: 10, events: 100, compromised: 0 },
  faults: true,
  tokenLifetimeMs: 3_600_000,
  clock: systemClock,
  log: silent,
});
server.faults?.set([{ kind: 'latency', ms: latencyMs }]);

const requests: Seen['requests'] = [];
const pathOf = (url: string) => new URL(url).pathname + new URL(url).search;
const listening = serve({
  fetch: (request) => {
    requests.push({ atMs: systemClock.nowMs(), path: pathOf(request.url) });
    return server.app.fetch(request);
  },
  hostname: '127.0.0.1',
  port: 0,
});
listening.on('listening', () => {
  const { port } = listening.address() as { port: number };
  process.stdout.write(`READY http://127.0.0.1:${port} ${server.credentials?.apiKey}\n`);
});

/** Taken in turn; each has an owner of its own. */
const ids = Array.from({ length: 1_500 }, (_, number) => server.fleet.addDevice({}, [`owner-${number}@bench.example`]));
const compromisedAt: Seen['compromisedAt'] = {};

function compromise(isTold = false): void {
  const id = ids.shift();
  if (id === undefined) throw new Error('no device is left');
  const atMs = systemClock.nowMs();
  server.fleet.patchDevice(id, { mdm_compromised: 'TRUE', mdm_timestamp: BigInt(atMs) * 1_000_000n });
  const event = { type: 'TrustScoring', subType: 'Device', action: 'TrustScoreCalculate', severity: 'WARN' } as const;
  if (isTold) process.send?.({ told: id } satisfies Told);
  else server.fleet.addEvent({ ...event, deviceId: id, createdAtMs: atMs });
  compromisedAt[id] = atMs;
}

process.on('message', (asked: Compromise | 'seen') => {
  if (asked === 'seen') {
    const bans = server.effects().filter(({ kind }) => kind === 'device_banned');
    const bannedAt = Object.fromEntries(bans.map(({ target, atMs }) => [target, atMs]));
    process.send?.({ compromisedAt, bannedAt, requests } satisfies Seen);
    return;
  }
  for (let each = 0; each < asked.count; each += 1) {
    if (asked.withinMs === 0) compromise(asked.isTold);
    else setTimeout(() => compromise(asked.isTold), Math.random() * asked.withinMs);
  }
});
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
