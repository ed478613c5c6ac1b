// The jobs of workers, on a server that is open. In: a server and its database. Out: the port of domain/jobs.ts, closed before the server.
import type { PostgresDatabase } from '../domain/database.ts';
import type { Jobs } from '../domain/jobs.ts';
import type { Log } from '../domain/ports.ts';
import { openJobs } from '../jobs/jobs.ts';
import { postgresError } from '../store/postgres/postgres-fault.ts';
import { addressOf, type PostgresServer } from './postgres.ts';

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
