// A database opened for reading runs and what came of them, beside any writer. In: its file. Out: a reader, closed by `close`. It
// loads less than compose/reader.ts.
import { openReadOnly } from '../store/database.ts';
import { SqliteRecords } from '../store/records.ts';
import { systemClock } from '../system/clock.ts';

/** Errors: AppError `not_found` without a database, `store_failed`. */
export function composeRecords(databaseFile: string): SqliteRecords {
  return new SqliteRecords(openReadOnly(databaseFile), systemClock);
}
