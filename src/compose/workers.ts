// What workers do for an organization in PostgreSQL, as its database shows it. In: a database. Out: the lease, the jobs, the last run. It only reads.
import type { PostgresDatabase } from '../domain/database.ts';
import type { JobCount } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import type { RunRecord } from '../domain/store.ts';
import { countJobs } from '../jobs/counts.ts';
import { type LeaseLook, lookAtLease } from '../store/postgres/lease-look.ts';
import { PostgresPool } from '../store/postgres/pool.ts';
import { postgresRunReader } from '../store/postgres/postgres-store.ts';
import { addressOf } from './postgres.ts';

export interface WorkersLook {
  /** Undefined: nobody has ever acted for it. */
  lease: LeaseLook | undefined;
  /** Of the organization. Undefined: no process has ever made the tables of the jobs. */
  jobs: readonly JobCount[] | undefined;
  lastRun: RunRecord | undefined;
}

/** Errors: AppError `store_failed`, `not_found` without the tables. */
export async function lookAtWorkers(database: PostgresDatabase, clock: Clock): Promise<WorkersLook> {
  const { organization } = database;
  const pool = new PostgresPool(addressOf(database), { connectionsMax: 2 });
  try {
    const all = await countJobs((sql) => pool.query(sql));
    return {
      lease: await lookAtLease(pool, organization),
      jobs: all?.filter((one) => one.organization === organization),
      lastRun: await postgresRunReader(pool, organization, clock).latestRun(),
    };
  } finally {
    await pool.close();
  }
}
