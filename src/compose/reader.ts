// A database opened for reading, beside any writer. In: which one. Out: a reader, closed by `close`. It loads neither rules nor
// the API: reading commands start at once.
import { type Database, sqliteFileOf } from '../domain/database.ts';
import { openReadOnly } from '../store/database.ts';
import { SqliteReader } from '../store/sqlite-reader.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export function composeReader(database: Database): SqliteReader {
  return new SqliteReader(openReadOnly(sqliteFileOf(database, 'give a SQLite file')), systemClock);
}
