// PostgreSQL for this process: its connections, and the right to act for one organization at a time. In: a database of the configuration. Out:
// one server, shared by all compositions of the process; what one opens of it.
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '../../base/files.ts';
import type { PostgresDatabase } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Listen } from '../../domain/lease.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { positionFiles } from '../../engine/audit/position-file.ts';
import { alone, listening, PostgresLeases, ServerClock } from '../../store/postgres/lease.ts';
import { IS_HELD, lockKeyOf } from '../../store/postgres/lease-statements.ts';
import { PostgresPool } from '../../store/postgres/pool.ts';
import { postgresReader, postgresRunReader } from '../../store/postgres/postgres-store.ts';
import type { SqlReader } from '../../store/reader.ts';
import type { SqlRunReader } from '../../store/run-reader.ts';
import { StoreHealth } from '../../store/sqlite/opened-file.ts';

export interface PostgresServer {
  pool: PostgresPool;
  /** By which everything is recorded, whichever machine records it. */
  clock: ServerClock;
  leases: PostgresLeases;
  /** Of the server, for all of its organizations. */
  health: StoreHealth;
  listen: Listen;
  /** Measures the clock now and then, and notices that a fault is over, also in a process that writes seldom. Until `signal` aborts; never rejects. */
  untilEnding(signal: AbortSignal): Promise<void>;
  /** Does this while no other process does the same for the organization: the files beside the database are written so. */
  alone<T>(organization: string, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Makes or updates the tables. Errors: AppError `config`, `store_failed`. */
export async function openServer(
  database: PostgresDatabase,
  clock: Clock,
  log: Log,
  leaseMs?: number,
): Promise<PostgresServer> {
  const health = new StoreHealth(clock, log);
  const pool = new PostgresPool(addressOf(database), { watch: health });
  let server: ServerClock;
  try {
    await pool.migrate();
    server = await ServerClock.of(pool, clock);
  } catch (error) {
    await pool.close();
    throw error;
  }
  const leases = new PostgresLeases({
    open: (organization) => pool.open(organization),
    clock,
    ...(leaseMs !== undefined && { leaseMs }),
    holder: `${hostname()} ${process.pid}`,
    positions: positionFiles((organization) => folderOf(database, organization)),
  });
  return {
    pool,
    clock: server,
    leases,
    health,
    listen: (channel, hearing) => listening({ pool, clock, log }, channel, hearing),
    untilEnding: async (signal) => {
      await Promise.all([tryAgain(pool, health, clock, signal), keepMeasuring(server, signal)]);
    },
    alone: (organization, work) => alone(pool, organization, work),
    close: () => pool.close(),
  };
}

const TRY_EVERY_MS = 2_000;

async function tryAgain(pool: PostgresPool, health: StoreHealth, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(TRY_EVERY_MS, signal).catch(() => {});
    // What fails is remembered by the pool.
    if (!signal.aborted && health.fault()) await pool.tryToWrite().catch(() => {});
  }
}

const MEASURE_EVERY_MS = 10_000;

async function keepMeasuring(clock: ServerClock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(MEASURE_EVERY_MS, signal).catch(() => {}); // being stopped
    // Without an answer the clock goes on as it was last measured.
    if (!signal.aborted) await clock.measure().catch(() => {});
  }
}

/** The clock by which everything in the database is recorded. Errors: AppError `store_failed`. */
export async function clockOn(database: PostgresDatabase, own: Clock): Promise<Clock> {
  const pool = poolOf(database);
  try {
    return await ServerClock.of(pool, own);
  } finally {
    await pool.close();
  }
}

/** For reading beside any writer; closed by its `close`. Errors: AppError `store_failed`. */
export async function readerOn(database: PostgresDatabase, clock: Clock): Promise<SqlReader> {
  return postgresReader(await readingPool(database), database.organization, clock, true);
}

export async function runReaderOn(database: PostgresDatabase, clock: Clock): Promise<SqlRunReader> {
  return postgresRunReader(await readingPool(database), database.organization, clock, true);
}

/** Whether a process has the right to act for the organization. Errors: AppError `store_failed`. */
export async function isActedFor(database: PostgresDatabase): Promise<boolean> {
  const pool = poolOf(database);
  try {
    return (await pool.query(IS_HELD, [lockKeyOf(database.organization)])).length > 0;
  } finally {
    await pool.close();
  }
}

async function readingPool(database: PostgresDatabase): Promise<PostgresPool> {
  const pool = poolOf(database);
  try {
    await pool.demandKnownTables();
    return pool;
  } catch (error) {
    await pool.close();
    throw error;
  }
}

function poolOf(database: PostgresDatabase): PostgresPool {
  return new PostgresPool(addressOf(database), { connectionsMax: 2 });
}

/**
 * INVARIANT: it holds the password: it is handed to the client alone. Without one the client finds it as it always does (PGPASSWORD, ~/.pgpass).
 */
export function addressOf({ url, password }: PostgresDatabase): string {
  if (password === undefined) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(password);
  return whole.href;
}

export function folderOf({ beside }: PostgresDatabase, organization: string): string {
  const folder = join(dirname(dirname(beside)), organization);
  try {
    makeFolderSync(folder);
  } catch (error) {
    const text = `the folder \`${folder}\` of TRUSTWARD_STATE cannot be made (${(error as NodeJS.ErrnoException).code}): let it name a folder that this user may write, the same one for every process`;
    throw new AppError('config', text, { cause: error });
  }
  return folder;
}
