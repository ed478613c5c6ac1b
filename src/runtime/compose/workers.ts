// What workers do for an organization in PostgreSQL, as its database shows it. In: a database. Out: the lease, the jobs, the last run. It only reads.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { PostgresDatabase } from '../../domain/database.ts';
import type { JobCount, Jobs } from '../../domain/jobs.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { RunRecord } from '../../domain/store.ts';
import { positionFileIn } from '../../engine/audit/position-file.ts';
import { beginReading } from '../../store/postgres/organization.ts';
import { PostgresPool } from '../../store/postgres/pool.ts';
import { type LeaseLook, lookAtLease, postgresRunReader } from '../../store/postgres/postgres-store.ts';
import { postgresError } from '../../store/postgres/shared-tables.ts';
import { countJobs, openJobs } from '../jobs/jobs.ts';
import { addressOf, type PostgresServer } from './postgres.ts';

export interface WorkersLook {
  /** Undefined: nobody has ever acted for it. */
  lease: LeaseLook | undefined;
  /** Of the organization. Undefined: no process has ever made the tables of the jobs. */
  jobs: readonly JobCount[] | undefined;
  lastRun: RunRecord | undefined;
  /** When a request was last sent, epoch ms; undefined: never, or too long ago. */
  lastSentAt: number | undefined;
  /** When a position was last recorded in the folder of this machine, as before each such request; undefined: never. */
  positionAt: number | undefined;
}

const LAST_SENT = 'SELECT max(sent_at)::float8 AS at FROM trustward.attempts';

/** Errors: AppError `store_failed`, `not_found` without the tables. */
export async function lookAtWorkers(database: PostgresDatabase, clock: Clock): Promise<WorkersLook> {
  const { organization, beside } = database;
  const pool = new PostgresPool(addressOf(database), { connectionsMax: 2 });
  try {
    const all = await countJobs((sql) => pool.query(sql));
    return {
      lease: await lookAtLease(pool, organization),
      jobs: all?.filter((one) => one.organization === organization),
      lastRun: await postgresRunReader(pool, organization, clock).latestRun(),
      lastSentAt: await lastSentAt(pool, organization),
      positionAt: statSync(positionFileIn(dirname(beside)), { throwIfNoEntry: false })?.mtimeMs,
    };
  } finally {
    await pool.close();
  }
}

async function lastSentAt(pool: PostgresPool, organization: string): Promise<number | undefined> {
  const { rows } = await pool.transaction(beginReading(organization), (client) =>
    client.query<{ at: number | null }>(LAST_SENT),
  );
  return rows[0]?.at ?? undefined;
}

/** Makes or updates what the jobs need. Errors: AppError `store_failed`. */
export function composeJobs(
  { pool, listen, clock }: PostgresServer,
  database: PostgresDatabase,
  log: Log,
): Promise<Jobs> {
  return openJobs({
    url: addressOf(database),
    log,
    listen,
    clock,
    explain: (error) => postgresError(error, pool.place),
  });
}
