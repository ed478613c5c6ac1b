// A database opened for reading, beside any writer. In: its file. Out: a reader, closed by `close`. It loads neither rules nor
// the API: reading commands start at once.
import { openReadOnly } from '../store/database.ts';
import { SqliteReader } from '../store/sqlite-reader.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export function composeReader(databaseFile: string): SqliteReader {
  return new SqliteReader(openReadOnly(databaseFile), systemClock);
}
