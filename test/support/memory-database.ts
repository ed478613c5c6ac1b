// support: a database in memory that outlives every crash of the engine: only what was committed is in it. It starts as a
// copy of a migrated one, without the waits for a disk, so that thousands of them are made in a minute.
import Database from 'better-sqlite3';
import { migrate, SqliteDb } from '../../src/store/sqlite/database.ts';
import type { InPlace, StoreWatch } from '../../src/store/sqlite/opened-file.ts';

let template: Buffer | undefined;

/** The disk below it: hears of faults, and says whether the file is still in place. */
export type Disk = StoreWatch & InPlace;

export function freshDatabase(disk?: Disk): SqliteDb {
  return opened(freshBytes(), disk);
}

/** Of a database with this version's tables. */
export function freshBytes(): Buffer {
  template ??= migratedTemplate();
  return template;
}

/** The current database, to be restored later. */
export function copyOf(db: SqliteDb, disk?: Disk): SqliteDb {
  return opened(bytesOf(db), disk);
}

export function bytesOf(db: SqliteDb): Buffer {
  return (connections.get(db) as Database.Database).serialize();
}

/** Changes rows as another connection does: the triggers of this one are away meanwhile. */
export function beside<T>(db: SqliteDb, change: () => T): T {
  const triggers = db.all<{ name: string; sql: string }>("SELECT * FROM sqlite_temp_master WHERE type = 'trigger'");
  for (const { name } of triggers) db.exec(`DROP TRIGGER temp.${name}`);
  const answer = change();
  for (const { sql } of triggers) db.exec(sql.replace(/^CREATE TRIGGER/, 'CREATE TEMP TRIGGER'));
  return answer;
}

const connections = new WeakMap<SqliteDb, Database.Database>();

function opened(bytes: Buffer, disk: Disk | undefined): SqliteDb {
  const connection = new Database(bytes);
  connection.pragma('synchronous = OFF');
  connection.pragma('journal_mode = MEMORY');
  connection.pragma('foreign_keys = ON');
  connection.pragma('trusted_schema = OFF');
  const db = new SqliteDb(connection, ':memory:', disk, disk && [disk]);
  connections.set(db, connection);
  return db;
}

function migratedTemplate(): Buffer {
  const connection = new Database(':memory:');
  connection.pragma('auto_vacuum = INCREMENTAL');
  migrate(new SqliteDb(connection, ':memory:'));
  return connection.serialize();
}
