// Random histories of workers that take a lease, act, release it, lose their connections, hang, and see their clocks jump. A model looks at
// what each was allowed to write: never two actors at the same time, and never an earlier one after a later one.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { PostgresLease } from '../../../src/store/postgres/lease.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { clockApart, type LeaseWorld, leaseWorld } from './lease-world.ts';

const HISTORIES = 16;
const AT_ONCE = 16;
const WORKERS = 3;
/** A history goes on until so much has happened in it. */
const LEAST = { faults: 7, actors: 2 };
const LEASE_MS = 500;
const QUIET_MS = 150;
const HOUR = 3_600_000;

interface Write {
  fence: number;
  atMs: number;
  /** The last one of its actor, which then released the lease. */
  isReleased?: boolean;
}

describe.skipIf(hasNoPostgres)(`leases${NEEDS_POSTGRES}`, () => {
  let world: LeaseWorld;
  beforeAll(async () => {
    world = await leaseWorld(await sharedCluster());
  }, 120_000);
  afterAll(() => world.close());

  test(`never allow two actors, in ${HISTORIES} random histories`, { timeout: 240_000 }, async () => {
    const totals = { writes: 0, actors: 0, faults: 0 };
    for (let from = 0; from < HISTORIES; from += AT_ONCE) {
      const seeds = Array.from({ length: AT_ONCE }, (_, index) => from + index + 1);
      const histories = await Promise.all(seeds.map((seed) => history(seed)));
      for (const { seed, writes, faults } of histories) {
        expect(faultOf(writes), `seed ${seed}`).toBeUndefined();
        totals.writes += writes.length;
        totals.actors += actorsOf(writes);
        totals.faults += faults;
      }
      for (const { seed, writes, committed } of histories)
        expect(committed, `seed ${seed}`).toEqual(committedBy(writes, committed));
    }
    process.stdout.write(
      `${HISTORIES} histories: ${totals.writes} writes by ${totals.actors} actors, ${totals.faults} faults\n`,
    );
  });

  async function history(seed: number) {
    const organization = `history-${seed}`;
    const random = randomOf(seed);
    const writes: Write[] = [];
    const end = new AbortController();
    const workers = await Promise.all(
      Array.from({ length: WORKERS }, async (_, index) => {
        const proxy = await TcpProxy.start(Number(new URL(world.url()).port));
        const clock = clockApart({ wallMs: (index - 1) * HOUR, monotonicMs: index * HOUR });
        const leases = world.worker(`w${index}`, { port: proxy.port, clock, leaseMs: LEASE_MS });
        return { proxy, clock, done: actUntil(end.signal) };

        async function actUntil(signal: AbortSignal) {
          while (!signal.aborted) {
            const lease = await leases
              .take(organization, { waitMs: 300, quietMs: QUIET_MS, signal })
              .catch(() => sleep(20));
            if (lease) await actWith(lease, writes, random, signal);
          }
        }
      }),
    );
    let faults = 0;
    const isOver = () => faults >= LEAST.faults && actorsOf(writes) >= LEAST.actors;
    for (; !isOver(); faults += 1) {
      await sleep(100 + random() * 400);
      const worker = workers[Math.floor(random() * WORKERS)] as (typeof workers)[0];
      FAULTS[Math.floor(random() * FAULTS.length)]?.(worker);
    }
    end.abort();
    for (const { proxy } of workers) proxy.cut();
    await Promise.all(workers.map(({ done }) => done));
    await Promise.all(workers.map(({ proxy }) => proxy.close()));
    const rows = await world.rows<{ fence: string }>(
      'SELECT fence::text FROM trustward.acts WHERE org = $1 ORDER BY n',
      [organization],
    );
    return { seed, writes, faults, committed: rows.map(({ fence }) => Number(fence)) };
  }
});

function actorsOf(writes: readonly Write[]): number {
  return new Set(writes.map(({ fence }) => fence)).size;
}

type Faulty = { proxy: TcpProxy; clock: { apart: { wallMs: number } } };
const FAULTS: ((worker: Faulty) => void)[] = [
  ({ proxy }) => proxy.cut(),
  ({ proxy }) => proxy.hang(),
  ({ proxy }) => proxy.hang('to_client'),
  ({ proxy }) => proxy.resume(),
  ({ proxy }) => proxy.resume(),
  ({ proxy }) => proxy.resume(),
  ({ proxy }) => proxy.resume(),
  ({ proxy }) => proxy.delay(30),
  ({ proxy }) => proxy.delay(0),
  ({ proxy }) => proxy.halfClose(),
  ({ clock }) => {
    clock.apart.wallMs += HOUR;
  },
  ({ clock }) => {
    clock.apart.wallMs -= HOUR;
  },
];

/** As the engine does: what is to be sent is committed, then it is asked once more, then it is written. */
async function actWith(
  lease: PostgresLease,
  writes: Write[],
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  const actions = Math.ceil(random() * 60);
  let last: Write | undefined;
  for (let count = 0; count < actions && !signal.aborted && !lease.lost.aborted; count += 1) {
    try {
      await lease.transaction((client) =>
        client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]),
      );
    } catch {
      break;
    }
    // The connection to the API takes its time, now and then longer than the lease and the quiet period.
    await sleep(random() < 0.04 ? 500 + random() * 1_000 : random() * 30);
    if (!lease.mayWrite()) break;
    last = { fence: lease.fence, atMs: systemClock.monotonicMs() };
    writes.push(last);
  }
  if (last && !lease.lost.aborted) last.isReleased = true;
  await lease.release();
}

/** The first thing in it that must not be; undefined: nothing. */
function faultOf(writes: readonly Write[]): string | undefined {
  for (const [index, write] of writes.entries()) {
    const former = writes[index - 1];
    if (!former || former.fence === write.fence) continue;
    if (write.fence < former.fence) return `${write.fence} wrote after ${former.fence}`;
    const gapMs = write.atMs - former.atMs;
    if (!former.isReleased && gapMs < QUIET_MS) return `${write.fence} wrote ${gapMs} ms after ${former.fence}`;
  }
  return undefined;
}

/** Fences of commits grow with their order, and each write has a commit before it. */
function committedBy(writes: readonly Write[], committed: readonly number[]): number[] {
  for (const { fence } of writes) if (!committed.includes(fence)) return [];
  return [...committed].sort((a, b) => a - b);
}

function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}
