// A database opened for reading runs, what came of them, and names, beside any writer. In: which one. Out: a reader, closed by
// `close`. It loads less than compose/reader.ts.
import type { Database } from '../../domain/database.ts';
import { SqlRunReader } from '../../store/run-reader.ts';
import { openReadOnly, SqliteWork } from '../../store/sqlite/database.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export async function composeRunReader(database: Database): Promise<SqlRunReader> {
  if (database.kind === 'sqlite') return new SqlRunReader(new SqliteWork(openReadOnly(database.file)), systemClock);
  return (await import('./postgres.ts')).runReaderOn(database, systemClock);
}

/** A database read for a while; the reader is closed, also after an error. Errors: those of opening it, and of `read`. */
export async function withReader<R extends { close(): void | Promise<void> }, T>(
  opened: Promise<R>,
  read: (reader: R) => Promise<T>,
): Promise<T> {
  const reader = await opened;
  try {
    return await read(reader);
  } finally {
    await reader.close();
  }
}
