// A database opened for reading runs, what came of them, and names, beside any writer. In: its file. Out: a reader, closed by
// `close`. It loads less than compose/reader.ts.
import { openReadOnly } from '../store/database.ts';
import { SqliteRunReader } from '../store/sqlite-run-reader.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export function composeRunReader(databaseFile: string): SqliteRunReader {
  return new SqliteRunReader(openReadOnly(databaseFile), systemClock);
}
