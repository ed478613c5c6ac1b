// store: hearing a channel of PostgreSQL over a connection that breaks in each way that connections break.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Listening } from '../../../src/domain/lease.ts';
import { listening } from '../../../src/store/postgres/lease.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** All pauses of the listener are short. */
const clock = { sleep: (_ms: number, signal?: AbortSignal) => sleep(20, undefined, { signal }) };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened() {
  const cluster = await sharedCluster();
  const name = await cluster.createDatabase();
  const url = new URL(cluster.url(name));
  const direct = new PostgresPool(url.href);
  const proxy = await TcpProxy.start(Number(url.port));
  url.port = String(proxy.port);
  const pool = new PostgresPool(url.href);
  closing.push(
    () => cluster.dropDatabase(name),
    () => direct.close(),
    () => proxy.close(),
    () => pool.close(),
  );
  return { direct, proxy, pool };
}

/** What is heard, and how often something may have been missed. */
function hearing() {
  const all: string[] = [];
  let misses = 0;
  let noticed = Promise.withResolvers<void>();
  const notice = () => {
    noticed.resolve();
    noticed = Promise.withResolvers();
  };
  return {
    all,
    heard: (payload: string) => {
      all.push(payload);
      notice();
    },
    missed: () => {
      misses += 1;
      notice();
    },
    until: async (payload: string) => {
      while (!all.includes(payload)) await noticed.promise;
    },
    again: async () => {
      for (const least = misses + 2; misses < least; ) await noticed.promise;
    },
  };
}

describe.skipIf(hasNoPostgres)(`a channel${NEEDS_POSTGRES}`, () => {
  it.each([
    ['is cut', async ({ proxy }) => proxy.cut()],
    [
      'is ended by the server',
      async ({ direct }) => {
        await direct.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'",
        );
      },
    ],
    [
      'hangs without a word, and is ended meanwhile',
      async ({ direct, proxy }) => {
        proxy.hang();
        await direct.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'",
        );
        while (proxy.accepted < 2) await sleep(50);
        proxy.resume();
      },
    ],
  ] as [string, (world: Awaited<ReturnType<typeof opened>>) => Promise<void>][])(
    'is heard again after its connection %s, and what was told between counts as missed',
    async (_how, breaks) => {
      const world = await opened();
      const ear = hearing();
      const listened: Listening = listening({ pool: world.pool, clock, log: silent }, 'told', ear);
      closing.push(() => listened.close());
      await ear.again();
      await world.direct.query("SELECT pg_notify('told', 'before')");
      await ear.until('before');
      await breaks(world);
      while (world.proxy.accepted < 2) await sleep(20);
      await ear.again();
      await world.direct.query("SELECT pg_notify('told', 'after')");
      await ear.until('after');
      expect(ear.all).toEqual(['before', 'after']);
    },
    60_000,
  );
});
