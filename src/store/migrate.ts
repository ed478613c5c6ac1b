// store: brings a database to this version's tables. Migrations are files, append-only, all missing ones in one transaction.
// A database of a newer version is refused: its rows may have another meaning.
import { readdirSync, readFileSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { HASH_FUNCTION, hashInSql } from './identity-keys.ts';

const FOLDER = new URL('./migrations/', import.meta.url);

/** The part of a connection that migrating needs. */
interface Connection {
  file: string;
  exec(sql: string): void;
  define(name: string, work: typeof hashInSql): void;
  get<T>(sql: string): T | undefined;
  transaction<T>(work: () => T): T;
}

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** The shipped migrations in order: `0001-first.sql` is version 1. */
export function readMigrations(folder: URL = FOLDER): Migration[] {
  return namesIn(folder).map((name) => ({
    version: versionIn(name),
    name,
    sql: readFileSync(new URL(name, folder), 'utf8'),
  }));
}

function namesIn(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .sort();
}

function versionIn(name: string): number {
  return Number(name.slice(0, 4));
}

/**
 * Applies missing migrations, and `migrated` after them in the same transaction; safe to repeat, and safe when two processes start at
 * once. Returns the version reached.
 */
export function migrate(
  db: Connection,
  migrations: Migration[] = readMigrations(),
  migrated?: (from: number, to: number) => void,
): number {
  const latest = migrations.at(-1)?.version ?? 0;
  if (versionOf(db) < latest) {
    db.define(HASH_FUNCTION, hashInSql);
    db.transaction(() => {
      const from = versionOf(db);
      const missing = migrations.filter(({ version }) => version > from);
      for (const { sql, version } of missing) db.exec(`${sql}; PRAGMA user_version = ${version}`);
      if (missing.length > 0) migrated?.(from, latest);
    });
  }
  const reached = versionOf(db);
  refuseNewer(db, reached, latest);
  return reached;
}

/** For a connection that cannot migrate. Errors: AppError `store_failed`, before a query meets a column that is not there. */
export function refuseOtherTables(db: Connection): void {
  const latest = versionIn(namesIn(FOLDER).at(-1) ?? '0000');
  const found = versionOf(db);
  refuseNewer(db, found, latest);
  if (found === 0)
    throw new AppError(
      'store_failed',
      `database \`${db.file}\` holds nothing of Trustward yet: run \`trustward run\` first`,
    );
  if (found < latest) {
    const text = `was written by an older version (tables ${found} of ${latest}): \`trustward plan\` or the daemon brings it up to date`;
    throw new AppError('store_failed', `database \`${db.file}\` ${text}`);
  }
}

function refuseNewer(db: Connection, found: number, latest: number): void {
  if (found <= latest) return;
  throw new AppError(
    'store_failed',
    `database \`${db.file}\` was written by a newer version (tables ${found}, this one knows ${latest}): update Trustward`,
  );
}

export function versionOf(db: Connection): number {
  return Number(db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0);
}
