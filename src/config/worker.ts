// Configuration: the settings of a worker itself, whatever organizations it works for. In: environment and flags. Out: one checked value.
import type { PostgresDatabase } from '../domain/database.ts';
import { LEASE_MS } from '../domain/lease.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import { LOG_LEVELS, type LogLevel } from '../system/log.ts';
import { readDatabase } from './database.ts';
import type { Flags } from './database-path.ts';
import { ConfigReader, type Environment } from './reader.ts';

export interface WorkerSettings {
  database: PostgresDatabase;
  logLevel: LogLevel;
  logForm: 'json' | 'plain';
  /** How long an actor counts as alive without a heartbeat, ms. */
  leaseMs: number;
  /** Organizations at the same time. */
  concurrency: number;
}

const CONCURRENCY = 8;

/** Errors: AppError `config` with every mistake, one per line. */
export function readWorkerSettings(env: Environment, flags: Flags, concurrency?: string): WorkerSettings {
  const reader = new ConfigReader(env);
  const database = readDatabase(reader, flags, DEFAULT_ORGANIZATION);
  if (database.kind === 'sqlite')
    reader.fault(
      `TRUSTWARD_DB is the SQLite file \`${database.file}\`: workers share a PostgreSQL database (postgres://…); with a file, \`trustward serve\` does all of it`,
    );
  const settings = {
    logLevel: reader.choice('TRUSTWARD_LOG_LEVEL', LOG_LEVELS, 'info'),
    logForm: reader.choice('TRUSTWARD_LOG_FORMAT', ['json', 'plain'] as const, process.stderr.isTTY ? 'plain' : 'json'),
    leaseMs: reader.duration('TRUSTWARD_LEASE', `${LEASE_MS / 1_000}s`, '1s'),
    concurrency: reader.countUpTo('TRUSTWARD_WORKER_CONCURRENCY', '--concurrency', concurrency, CONCURRENCY, 64),
  };
  reader.finish();
  return { ...settings, database: database as PostgresDatabase };
}
