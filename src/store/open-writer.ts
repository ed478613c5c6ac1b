// store: opens the store for its one writer. In: a connection that may have older tables. Out: the store. A migration changes rows that
// the audit records, so the rows are compared before it, and recorded anew in its transaction.
import type { LinkEntry } from '../domain/audit-entry.ts';
import type { Clock } from '../domain/ports.ts';
import { ACTING_TABLES, differencesNow } from './acting-tables.ts';
import { AuditLog, type Sealing } from './audit-log.ts';
import type { SqliteDb } from './database.ts';
import { FollowedTables } from './followed-tables.ts';
import { migrate, readMigrations, versionOf } from './migrate.ts';
import { recordedDigests } from './recorded-digests.ts';
import { strangeSchema } from './schema.ts';
import { SqliteStore } from './sqlite-store.ts';
import { answered } from './sqlite-work.ts';
import { damagedFault, schemaFault } from './store-fault.ts';

/** Errors: AppError `store_failed`, `store_damaged`, `store_edited` for tables or triggers that no migration made. */
export function openWriter(db: SqliteDb, link: LinkEntry, clock: Clock, sealing: Sealing): SqliteStore {
  // INVARIANT: before the first change, which would run a trigger that somebody put there.
  const strange = strangeSchema(db);
  if (strange !== undefined) throw schemaFault(strange);
  const migrations = readMigrations();
  const isOlder = versionOf(db) < (migrations.at(-1)?.version ?? 0);
  const isRecorded = isOlder && Object.keys(answered(db, recordedDigests)).length > 0;
  const differing = isRecorded ? answered(db, differencesNow) : [];
  migrate(db, migrations, (from, to) => {
    if (!isRecorded) return;
    const log = new AuditLog(new FollowedTables(db, differing), link, clock, sealing);
    answered(db, function* (tables) {
      yield* log.look(tables);
      log.append([{ kind: 'database.migrated', body: { from, to } }]);
      yield* log.flush(tables);
    });
  });
  const store = new SqliteStore(db, link, clock, sealing);
  db.keepSchema();
  noteBrokenIndexes(db);
  return store;
}

/** The digests are over the rows of a table; acting asks by its indexes, and one that lacks a row would hide it. */
function noteBrokenIndexes(db: SqliteDb): void {
  const broken = ACTING_TABLES.find((table) => {
    const [first] = db.all<{ integrity_check: string }>(`PRAGMA integrity_check(${table})`);
    return first?.integrity_check !== 'ok';
  });
  if (broken !== undefined) db.noteFault(damagedFault(`table \`${broken}\` and its indexes differ`));
}
