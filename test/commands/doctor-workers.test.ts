// test: what `doctor` says of the workers of an organization in PostgreSQL: none, one that acts, one that died, jobs that nobody takes, runs that are
// late.
import { describe, expect, it, onTestFinished } from 'vitest';
import { checksOf, workerChecks } from '../../src/commands/doctor/workers.ts';
import { addressOf, openServer } from '../../src/compose/postgres.ts';
import { lookAtWorkers, type WorkersLook } from '../../src/compose/workers.ts';
import type { PostgresDatabase } from '../../src/domain/database.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { openJobs } from '../../src/jobs/jobs.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../support/organization.ts';
import { hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, sharedCluster } from '../support/postgres.ts';
import { newOrganization } from '../support/stores.ts';

const NOON = Date.UTC(2026, 0, 5, 12, 0, 30);
const EVERY_FIVE = '*/5 * * * *';
const MINUTE = 60_000;

const run = (more: Partial<RunRecord> = {}) =>
  ({ seq: 7, status: 'completed', startedAt: Date.UTC(2026, 0, 5, 12), ...more }) as RunRecord;
const well: WorkersLook = {
  lease: { holder: 'host 7', isReleased: true, silentMs: 30_000, leaseMs: 10_000 },
  jobs: [],
  lastRun: run(),
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
      /^warning workers: `host 7` ended without giving its lease back: .* 1 min 30 s ago/,
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
    ['that made no run yet are a warning', { lastRun: undefined }, /^warning schedule: no run yet/],
  ])('%s', (_, look, text) => {
    expect(said(look)).toEqual([expect.stringMatching(text)]);
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

  it('have a holder while one acts, and the jobs of this organization alone', async () => {
    const database = await emptyDatabase();
    const { organization } = database;
    const server = await openServer(database, systemClock, silentLog);
    onTestFinished(() => server.close());
    const parts = { log: silentLog, listen: server.listen, clock: systemClock, explain: (error: unknown) => error };
    const jobs = await openJobs({ url: addressOf(database), ...parts });
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
