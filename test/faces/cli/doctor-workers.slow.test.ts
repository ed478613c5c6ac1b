// test: what `doctor` says of the workers of an organization in PostgreSQL: none, one that acts, one that died, jobs that nobody takes, runs that are
// late.
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PostgresDatabase } from '../../../src/domain/database.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import { checksOf, workerChecks } from '../../../src/faces/cli/doctor/daemon.ts';
import { openServer } from '../../../src/runtime/compose/postgres.ts';
import { composeJobs, lookAtWorkers, type WorkersLook } from '../../../src/runtime/compose/workers.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { silentLog } from '../../support/organization.ts';
import { hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { newOrganization } from '../../support/stores.ts';

const NOON = Date.UTC(2026, 0, 5, 12, 0, 30);
const EVERY_FIVE = '*/5 * * * *';
const MINUTE = 60_000;

const run = (more: Partial<RunRecord> = {}) =>
  ({ seq: 7, status: 'completed', startedAt: Date.UTC(2026, 0, 5, 12), ...more }) as RunRecord;
const well: WorkersLook = {
  lease: { holder: 'host 7', isReleased: true, silentMs: 30_000, leaseMs: 10_000 },
  jobs: [],
  lastRun: run(),
  lastSentAt: NOON,
  positionAt: NOON,
};
const count = { organization: 'acme', kind: 'run', waiting: 1, underWay: 0, waitingMsMax: 0 } as const;
const said = (look: Partial<WorkersLook>, nowMs = NOON) =>
  checksOf({ ...well, ...look }, EVERY_FIVE, nowMs)
    .filter(({ state }) => state !== 'ok')
    .map(({ name, state, text }) => `${state} ${name}: ${text}`);

describe('the workers of an organization', () => {
  it('are well when the last run is the one that was due, and nothing waits for long', () => {
    expect(said({})).toEqual([]);
    expect(said({ jobs: [{ ...count, waitingMsMax: 5_000 }] })).toEqual([]);
    expect(said({ lease: { holder: 'host 7', isReleased: false, silentMs: 2_000, leaseMs: 10_000 } })).toEqual([]);
  });

  it.each([
    ['that never were are a warning', { lease: undefined }, /^warning workers: none has ever acted/],
    [
      'whose last one died are a warning, until another one takes over',
      { lease: { holder: 'host 7', isReleased: false, silentMs: 90_000, leaseMs: 10_000 } },
      /^warning workers: `host 7` ended without returning its lease: .* 1 min 30 s ago/,
    ],
    [
      'that take no jobs are a problem',
      { jobs: [{ ...count, waitingMsMax: 5 * MINUTE }] },
      /^problem jobs: 1 waits, 0 under way; the oldest has waited for 5 min/,
    ],
    [
      'that are slow are a warning',
      { jobs: [{ ...count, underWay: 1, waitingMsMax: 5 * MINUTE }] },
      /^warning jobs: 1 waits, 1 under way/,
    ],
    ['on a database without jobs are a problem', { jobs: undefined }, /^problem jobs: no worker has ever started/],
    [
      'that recorded what they sent in another folder are a problem',
      { positionAt: NOON - 61 * MINUTE },
      /^problem state: the last request was sent .* recorded none since .*: it is a copy, or/,
    ],
    ['that made no run yet are a warning', { lastRun: undefined }, /^warning schedule: no run yet/],
  ])('%s', (_, look, text) => {
    expect(said(look)).toEqual([expect.stringMatching(text)]);
  });

  it('whose clocks differ by an hour, or that sent nothing, have the same folder', () => {
    expect(said({ positionAt: NOON - 60 * MINUTE })).toEqual([]);
    expect(said({ lastSentAt: undefined, positionAt: 0 })).toEqual([]);
    expect(said({ positionAt: undefined })).toEqual([]);
  });

  it('whose runs are late are a warning, and a problem when more than one was missed', () => {
    const at = (minutes: number) => Date.UTC(2026, 0, 5, 12, minutes, 30);
    expect(said({}, at(5))).toEqual([]);
    expect(said({}, at(7))).toEqual([expect.stringMatching(/^warning schedule: run 7 began .* due 1 time since/)]);
    expect(said({}, at(31))).toEqual([expect.stringMatching(/^problem schedule: run 7 began .* due 6 times since/)]);
    expect(said({ lastRun: run({ status: 'running' }) }, at(31))).toEqual([
      expect.stringMatching(/^warning schedule: .* that one is still under way/),
    ]);
  });
});

describe.skipIf(hasNoPostgres)(`the workers as PostgreSQL shows them${NEEDS_POSTGRES}`, { timeout: 120_000 }, () => {
  async function emptyDatabase(): Promise<PostgresDatabase> {
    const cluster = await sharedCluster();
    const name = await migratedDatabase(cluster);
    onTestFinished(() => cluster.dropDatabase(name));
    const organization = newOrganization();
    return { kind: 'postgres', url: cluster.url(name), password: undefined, organization, beside: 'none' };
  }

  it('are none at first', async () => {
    const database = await emptyDatabase();
    expect(await lookAtWorkers(database, systemClock)).toEqual({
      lease: undefined,
      jobs: undefined,
      lastRun: undefined,
    });
    const checks = await workerChecks({ database, schedule: EVERY_FIVE });
    expect(checks.map(({ name, state }) => `${state} ${name}`)).toEqual([
      'warning workers',
      'problem jobs',
      'warning schedule',
    ]);
  });

  it('have a folder beside the database, which shows when they last recorded what they send, and rows of what they sent', async () => {
    const root = mkdtempSync(join(tmpdir(), 'trustward-doctor-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const empty = await emptyDatabase();
    const { organization, url } = empty;
    const database = { ...empty, beside: join(root, organization, 'trustward') };
    const server = await openServer(database, systemClock, silentLog);
    onTestFinished(() => server.close());
    const lease = await server.leases.take(organization, { waitMs: 0, quietMs: 0 });
    expect(await lookAtWorkers(database, systemClock)).toMatchObject({ lastSentAt: undefined, positionAt: undefined });
    await lease.recordPosition();
    await lease.release();
    utimesSync(join(root, organization, 'position'), 1_000, 1_000);
    const cluster = await sharedCluster();
    await cluster.query(
      `SET session_replication_role = replica; INSERT INTO trustward.attempts (org, id, intent_id, action, target, rules, sent_at)
        VALUES ('${organization}', 1, 'i', 'ban_device', 'S', '[]', 9000000), ('another', 1, 'i', 'ban_device', 'S', '[]', 10000000)`,
      new URL(url).pathname.slice(1),
    );
    const look = await lookAtWorkers(database, systemClock);
    expect(look).toMatchObject({ lastSentAt: 9_000_000, positionAt: 1_000_000 });
    expect(checksOf(look, EVERY_FIVE, NOON).filter(({ name }) => name === 'state')).toMatchObject([
      { state: 'problem' },
    ]);
  });

  it('have a holder while one acts, and the jobs of this organization alone', async () => {
    const database = await emptyDatabase();
    const { organization } = database;
    const server = await openServer(database, systemClock, silentLog);
    onTestFinished(() => server.close());
    const jobs = await composeJobs(server, database, silentLog);
    onTestFinished(() => jobs.close());
    for (const one of [organization, 'other']) await jobs.ask({ organization: one, kind: 'run', payload: null });
    const lease = await server.leases.take(organization, { waitMs: 0, quietMs: 0, signal: undefined } as never);
    const look = await lookAtWorkers(database, systemClock);
    expect(look.lease).toMatchObject({ isReleased: false, leaseMs: 10_000 });
    expect(look.jobs).toMatchObject([{ organization, kind: 'run', waiting: 1, underWay: 0 }]);
    await lease.release();
    expect((await lookAtWorkers(database, systemClock)).lease).toMatchObject({ isReleased: true });
  });
});
