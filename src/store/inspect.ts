// store: inspects a database file of any version. Reads only.
// In: a file name. Out: whether it is whole, and which tables it has.
import Database from 'better-sqlite3';
import { SqliteDb } from './database.ts';
import { readMigrations } from './migrate.ts';
import { storeError } from './store-fault.ts';

export interface Inspection {
  /** The version of its tables, and the version that this program knows. */
  tables: number;
  latest: number;
  /** The faults that SQLite finds, one line each; empty when it finds none. */
  damage: string[];
}

/** Errors: AppError `store_failed`, `store_damaged`, `store_locked`. */
export function openAsItIs(file: string): SqliteDb {
  try {
    return new SqliteDb(new Database(file, { readonly: true, fileMustExist: true, timeout: 5_000 }), file);
  } catch (error) {
    throw storeError(error, file);
  }
}

/** `quick` does not compare indexes with their tables. Errors: as openAsItIs. */
export function inspectDatabase(file: string, check: 'quick' | 'whole'): Inspection {
  const db = openAsItIs(file);
  try {
    const pragma = check === 'quick' ? 'quick_check' : 'integrity_check';
    const lines = db.all<Record<string, string>>(`PRAGMA ${pragma}`).flatMap((row) => Object.values(row));
    return {
      tables: Number(db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0),
      latest: readMigrations().at(-1)?.version ?? 0,
      damage: lines.filter((line) => line !== 'ok'),
    };
  } finally {
    db.close();
  }
}
