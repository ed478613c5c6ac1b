// support: a database in memory that outlives every crash of the engine: only what was committed is in it. It starts as a
// copy of a migrated one, without the waits for a disk, so that thousands of them are made in a minute.
import Database from 'better-sqlite3';
import { Db, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';

let template: Buffer | undefined;

export function freshDatabase(): Db {
  template ??= migratedTemplate();
  return opened(template);
}

/** The database as it is now, to be put in its place later. */
export function copyOf(db: Db): Db {
  return opened((connections.get(db) as Database.Database).serialize());
}

const connections = new WeakMap<Db, Database.Database>();

function opened(bytes: Buffer): Db {
  const connection = new Database(bytes);
  connection.pragma('synchronous = OFF');
  connection.pragma('journal_mode = MEMORY');
  connection.pragma('foreign_keys = ON');
  const db = new Db(connection, ':memory:');
  connections.set(db, connection);
  return db;
}

function migratedTemplate(): Buffer {
  migrate(openDatabase(':memory:'));
  const connection = new Database(':memory:');
  migrate(new Db(connection, ':memory:'));
  return connection.serialize();
}
