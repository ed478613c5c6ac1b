// store: the store of an SQLite database, for its one writer. In: a connection. Out: all ports.
import type { AuditNote, LinkEntry } from '../domain/audit-entry.ts';
import type { Clock } from '../domain/ports.ts';
import type { Sealing } from './audit-log.ts';
import type { SqliteDb } from './database.ts';
import { markMoved } from './moved-mark.ts';
import { SqlStore } from './sql-store.ts';
import { SqliteWriter } from './sqlite-writer.ts';

export class SqliteStore extends SqlStore {
  constructor(db: SqliteDb, link: LinkEntry, clock: Clock, sealing?: Sealing) {
    super(new SqliteWriter(db, link, clock, sealing), clock, sealing);
  }

  /** From this commit on the file is opened for writing by nobody but a move. */
  async markMoved(to: string, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* markMoved(store.db, to);
      store.audits.append(notes);
    });
  }
}
