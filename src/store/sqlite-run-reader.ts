// store: runs and names of an SQLite database, read beside any writer. In: a connection. Out: nouns. It loads less than sqlite-reader.ts.
import type { Clock } from '../domain/ports.ts';
import type { SqliteDb } from './database.ts';
import { SqlRunReader } from './run-reader.ts';
import { SqliteWork } from './sqlite-work.ts';

export class SqliteRunReader extends SqlRunReader {
  constructor(db: SqliteDb, clock: Clock) {
    super(new SqliteWork(db), clock);
  }
}
