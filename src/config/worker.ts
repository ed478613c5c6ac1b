// Configuration: the settings of a worker itself, whatever organizations it works for. In: environment and flags. Out: one checked value.
import type { PostgresDatabase } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import { hostsIn } from '../domain/hosts.ts';
import { LEASE_MS } from '../domain/lease.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import { isAddress, readDatabase } from './database.ts';
import { type Flags, readDatabasePath } from './database-path.ts';
import { type LogSettings, readLog } from './log.ts';
import { type Address, ConfigReader, type Environment } from './reader.ts';

export interface WorkerSettings {
  database: PostgresDatabase;
  log: LogSettings;
  /** How long an actor counts as alive without a heartbeat, ms. */
  leaseMs: number;
  /** Organizations at the same time. */
  concurrency: number;
  /** Health and metrics; undefined: nowhere. */
  listen: Address | undefined;
  allowedHosts: string[];
}

const CONCURRENCY = 8;

/** Errors: AppError `config` with every mistake, one per line. */
export function readWorkerSettings(env: Environment, flags: Flags, concurrency?: string): WorkerSettings {
  const text = readDatabasePath(env, flags);
  if (!isAddress(text))
    throw new AppError(
      'config',
      `\`${text}\` is a SQLite database, and workers share one of PostgreSQL: set TRUSTWARD_DB to postgres://…, or run \`trustward serve\`, which does all of it over a file`,
    );
  const reader = new ConfigReader(env);
  const database = readDatabase(reader, flags, DEFAULT_ORGANIZATION);
  const settings = {
    log: readLog(reader),
    leaseMs: reader.duration('TRUSTWARD_LEASE', `${LEASE_MS / 1_000}s`, '1s'),
    concurrency: reader.countUpTo('TRUSTWARD_WORKER_CONCURRENCY', '--concurrency', concurrency, CONCURRENCY, 64),
    listen: reader.address('TRUSTWARD_WORKER_LISTEN', flags.listen, '127.0.0.1:9465'),
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
  };
  reader.finish();
  return { ...settings, database: database as PostgresDatabase };
}
