// store: the store of an SQLite database, for its one writer. In: a connection. Out: all ports.
import type { LinkEntry } from '../domain/audit-entry.ts';
import type { Clock } from '../domain/ports.ts';
import type { Sealing } from './audit-log.ts';
import type { SqliteDb } from './database.ts';
import { SqlStore } from './sql-store.ts';
import { SqliteWriter } from './sqlite-writer.ts';

export class SqliteStore extends SqlStore {
  constructor(db: SqliteDb, link: LinkEntry, clock: Clock, sealing?: Sealing) {
    super(new SqliteWriter(db, link, clock, sealing), clock, sealing);
  }
}
