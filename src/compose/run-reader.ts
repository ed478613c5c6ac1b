// A database opened for reading runs, what came of them, and names, beside any writer. In: which one. Out: a reader, closed by
// `close`. It loads less than compose/reader.ts.
import { type Database, sqliteFileOf } from '../domain/database.ts';
import { openReadOnly } from '../store/database.ts';
import { SqliteRunReader } from '../store/sqlite-run-reader.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export function composeRunReader(database: Database): SqliteRunReader {
  return new SqliteRunReader(openReadOnly(sqliteFileOf(database, 'give a SQLite file')), systemClock);
}
