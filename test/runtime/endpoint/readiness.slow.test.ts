// test: an endpoint whose PostgreSQL fails shows it within seconds, and is ready again once the server is, although it writes nothing itself.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PostgresDatabase } from '../../../src/domain/database.ts';
import { isActedFor, openServer } from '../../../src/runtime/compose/postgres.ts';
import { Latest, readinessOfProcess, scheduleCheck } from '../../../src/runtime/endpoint/organization.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { testLog } from '../../support/console-organization.ts';
import { type Cluster, hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, startCluster } from '../../support/postgres.ts';

const jobs = { counts: async () => [] };

describe.skipIf(hasNoPostgres)(`readiness over PostgreSQL${NEEDS_POSTGRES}`, () => {
  let cluster: Cluster;
  let folder: string;
  let database: PostgresDatabase;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'trustward-readiness-'));
    cluster = await startCluster({ isDurable: false });
    const url = cluster.url(await migratedDatabase(cluster));
    database = {
      kind: 'postgres',
      url,
      password: undefined,
      organization: 'acme',
      beside: join(folder, 'acme', 'trustward'),
    };
  }, 180_000);
  afterAll(async () => {
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function opened(given: PostgresDatabase = database) {
    const ending = new AbortController();
    const server = await openServer(given, systemClock, testLog());
    const watched = server.untilEnding(ending.signal);
    onTestFinished(async () => {
      ending.abort();
      await watched;
      await server.close();
    });
    const look = async () => (await readinessOfProcess(server, jobs, undefined, systemClock, false))[0];
    const until = async (ok: boolean) => {
      for (;;) {
        const check = await look();
        if (check?.ok === ok) return check;
        await systemClock.sleep(50);
      }
    };
    return { server, look, until };
  }

  test('is lost with the server and comes back with it', { timeout: 120_000 }, async () => {
    const { look, until } = await opened();
    expect(await look()).toMatchObject({ ok: true, text: 'it answers' });
    await cluster.stop('fast');
    expect(await until(false)).toMatchObject({ text: expect.stringMatching(/^it does not answer, .*; since /) });
    await cluster.start();
    expect(await until(true)).toMatchObject({ text: 'it answers' });
  });

  test('is lost while the server takes no changes', { timeout: 120_000 }, async () => {
    const { until } = await opened();
    const admin = new pg.Client({
      connectionString: cluster.url('postgres', 'postgres'),
      options: '-c default_transaction_read_only=off',
    });
    await admin.connect();
    onTestFinished(() => admin.end());
    await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await admin.query('SELECT pg_reload_conf()');
    expect(await until(false)).toMatchObject({ text: expect.stringMatching(/^it is read-only, /) });
    await admin.query('ALTER SYSTEM RESET default_transaction_read_only');
    await admin.query('SELECT pg_reload_conf()');
    expect(await until(true)).toMatchObject({ text: 'it answers' });
  });

  test('is answered in time when the server is frozen', async () => {
    const frozen = { health: { fault: () => undefined }, pool: { demandWritable: () => new Promise<void>(() => {}) } };
    const inNoTime = { sleep: async () => {} };
    const [database] = await readinessOfProcess(frozen, jobs, undefined, inNoTime, false);
    expect(database).toEqual({ name: 'database', ok: false, text: 'PostgreSQL does not answer; see the log' });
  });

  test('a folder that cannot be made is named, and not taken for a fault of PostgreSQL', async () => {
    writeFileSync(join(folder, 'file'), '');
    const { server } = await opened({ ...database, beside: join(folder, 'file', 'acme', 'trustward') });
    await expect(server.leases.take('acme', { waitMs: 0, quietMs: 0 })).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(/^the folder `[^`]*file\/acme` of TRUSTWARD_STATE cannot be made \(ENOTDIR\): /),
    });
  });

  test('an organization is acted for while a process has its lease, and no longer', async () => {
    const { server } = await opened();
    const beta = { ...database, organization: 'beta' };
    expect(await isActedFor(beta)).toBe(false);
    const lease = await server.leases.take('beta', { waitMs: 0, quietMs: 0 });
    expect([await isActedFor(beta), await isActedFor(database)]).toEqual([true, false]);
    await lease.release();
    expect(await isActedFor(beta)).toBe(false);
  });
});

test('of readings that fail one after the other the first is reported, until one succeeds', async () => {
  let fails = true;
  const reported: unknown[] = [];
  const read = async () => {
    if (fails) throw new Error('gone');
  };
  const latest = new Latest(read, (error) => reported.push(error));
  const ask = async () => {
    latest.ask();
    await new Promise(setImmediate);
  };
  await ask();
  await ask();
  expect(reported).toHaveLength(1);
  fails = false;
  await ask();
  fails = true;
  await ask();
  expect(reported).toHaveLength(2);
});

describe('the schedule of an organization, as an endpoint beside workers sees it', () => {
  const NOON = Date.UTC(2026, 0, 5, 12);
  const MINUTE = 60_000;
  const at = (status: 'completed' | 'running', laterMs: number) =>
    scheduleCheck({ startedAt: NOON, status }, '*/5 * * * *', NOON + laterMs);

  test('is in order as long as no run is late', () => {
    expect(at('completed', 5.5 * MINUTE)).toMatchObject({ ok: true });
    expect(at('running', 8 * MINUTE)).toMatchObject({ ok: true });
  });

  test.each([
    ['when no worker asks for its runs, although nothing waits', 'completed' as const, 7 * MINUTE],
    ['when its last run was left behind by a worker that died', 'running' as const, 11 * MINUTE],
  ])('is not %s', (_, status, laterMs) => {
    expect(at(status, laterMs)).toMatchObject({
      ok: false,
      text: expect.stringMatching(/has been due since 2026-01-05 12:05:00 UTC: look whether workers/),
    });
  });

  test('is not before the first run', () => {
    expect(scheduleCheck(undefined, '*/5 * * * *', NOON)).toMatchObject({
      ok: false,
      text: expect.stringContaining('no run has begun yet'),
    });
  });
});
