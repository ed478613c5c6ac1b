// store: opens the store for its one writer. In: a connection that may have older tables. Out: the store. A migration changes rows that
// the audit records, so the rows are compared before it, and recorded anew in its transaction.
import type { LinkEntry } from '../domain/audit-entry.ts';
import type { Clock } from '../domain/ports.ts';
import { ActingTables, differencesNow } from './acting-tables.ts';
import { AuditLog, type Sealing } from './audit-log.ts';
import type { Db } from './database.ts';
import { migrate, readMigrations } from './migrate.ts';
import { recordedDigests } from './recorded-digests.ts';
import { SqliteStore } from './sqlite-store.ts';

/** Errors: AppError `store_failed`, `store_damaged`. */
export function openWriter(db: Db, link: LinkEntry, clock: Clock, sealing: Sealing): SqliteStore {
  const isRecorded = Object.keys(recordedDigests(db)).length > 0;
  const differing = isRecorded ? differencesNow(db) : [];
  migrate(db, readMigrations(), (from, to) => {
    if (!isRecorded) return;
    const log = new AuditLog(db, new ActingTables(db, differing), link, clock, sealing);
    log.append([{ kind: 'database.migrated', body: { from, to } }]);
    log.flush();
  });
  return new SqliteStore(db, link, clock, sealing);
}
