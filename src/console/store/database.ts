// console store: opens the console's own SQLite file and brings its schema up to date. In: a file name or ':memory:'.
// Out: an open database. It must never open a file of a newer schema, and never leave a partial migration.
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../domain/errors.ts';

const MIGRATIONS = new URL('../migrations/', import.meta.url);

/**
 * Opens (or makes) the console's database. AppError `store_failed` when it can't be opened, is of a newer version, or
 * isn't a database of the console.
 */
export function openDatabase(file: string): Database.Database {
  try {
    if (file !== ':memory:') prepareFile(file);
    const db = new Database(file, { timeout: 5_000 });
    try {
      db.pragma('journal_mode = WAL');
      // The console is a reference server: losing its last moments in a power cut does no harm.
      db.pragma('synchronous = NORMAL');
      db.pragma('foreign_keys = ON');
      db.pragma('cache_size = -65536');
      migrate(db, file);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError('store_failed', `cannot open the console's database \`${file}\`: ${why}`, { cause: error });
  }
}

/** It holds the key that signs access tokens: nobody else may read it. */
function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file)) return;
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}

/** A second, unchanging database with the current content of the first. For answers that lag behind. */
export function copyDatabase(db: Database.Database): Database.Database {
  const bytes = db.serialize();
  // A database in memory can't be in WAL mode: these two bytes of the header say that it is not.
  bytes[18] = 1;
  bytes[19] = 1;
  return new Database(bytes);
}

function migrate(db: Database.Database, file: string): void {
  const steps = readdirSync(MIGRATIONS)
    .filter((name) => /^\d{4}-.*\.sql$/.test(name))
    .sort();
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  if (tables.length > 0 && !tables.includes('enduser')) {
    throw new AppError('store_failed', `\`${file}\` is not a database of the console: give another file`);
  }
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > steps.length) {
    throw new AppError('store_failed', `\`${file}\` was written by a newer version: use that version, or another file`);
  }
  for (const [index, name] of steps.entries()) {
    if (index < version) continue;
    const text = readFileSync(new URL(name, MIGRATIONS), 'utf8');
    db.transaction(() => {
      db.exec(text);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}
