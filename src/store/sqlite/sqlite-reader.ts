// store: reading an SQLite database, beside any writer. In: a connection. Out: the reading half of the ports.
import type { Clock } from '../../domain/ports.ts';
import { SqlReader } from '../reader.ts';
import { type SqliteDb, SqliteWork } from './database.ts';

export class SqliteReader extends SqlReader {
  constructor(db: SqliteDb, clock: Clock) {
    super(new SqliteWork(db), clock);
  }
}
