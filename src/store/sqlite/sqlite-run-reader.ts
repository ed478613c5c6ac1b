// store: runs and names of an SQLite database, read beside any writer. In: a connection. Out: nouns. It loads less than sqlite-reader.ts.
import type { Clock } from '../../domain/ports.ts';
import { SqlRunReader } from '../run-reader.ts';
import { type SqliteDb, SqliteWork } from './database.ts';

export class SqliteRunReader extends SqlRunReader {
  constructor(db: SqliteDb, clock: Clock) {
    super(new SqliteWork(db), clock);
  }
}
