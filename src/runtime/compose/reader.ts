// A database opened for reading, beside any writer. In: which one. Out: a reader, closed by `close`. It loads neither rules nor
// the API: reading commands start at once.
import { existsSync } from 'node:fs';
import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { SqlReader } from '../../store/reader.ts';
import { demandFile, openReadOnly, SqliteWork } from '../../store/sqlite/database.ts';
import { systemClock } from '../system/clock.ts';
import { withReader } from './run-reader.ts';

/** The clock by which everything in it is recorded. Errors: AppError `store_failed`. */
export async function composeClock(database: Database): Promise<Clock> {
  if (database.kind === 'sqlite') return systemClock;
  return (await import('./postgres.ts')).clockOn(database, systemClock);
}

/** Errors: AppError `not_found` without the file of one. */
export function demandDatabase(database: Database): void {
  if (database.kind === 'sqlite') demandFile(database.file);
}

/** Errors: AppError `not_found` without a database, `store_failed`. */
export async function composeReader(database: Database): Promise<SqlReader> {
  if (database.kind === 'sqlite') return new SqlReader(new SqliteWork(openReadOnly(database.file)), systemClock);
  return (await import('./postgres.ts')).readerOn(database, systemClock);
}

/** Undefined when there is no database, or it cannot be read: whoever needs it reports what is wrong with it. */
export async function readIfAny<T>(
  database: Database,
  read: (reader: SqlReader) => Promise<T>,
): Promise<T | undefined> {
  if (database.kind === 'sqlite' && !existsSync(database.file)) return undefined;
  try {
    return await withReader(composeReader(database), read);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
