// domain: which database, and of which organization. In: nothing. Out: types, and its name for people. What lies beside a database (keys,
// checkpoints, history, token) has one place for each organization, whatever the database is.
import { AppError } from './errors.ts';

export interface SqliteDatabase {
  kind: 'sqlite';
  file: string;
  /** The file itself: `<file>.checkpoints`, `<file>.history` and the others lie beside it. */
  beside: string;
}

export interface PostgresDatabase {
  kind: 'postgres';
  /** INVARIANT: it has no password, so it may be shown. */
  url: string;
  /** Undefined: the client finds it as it always does (PGPASSWORD, ~/.pgpass). */
  password: string | undefined;
  organization: string;
  /** In the folder of the organization: what lies beside has this name and an ending of its own. */
  beside: string;
}

export type Database = SqliteDatabase | PostgresDatabase;

export function sqliteDatabase(file: string): SqliteDatabase {
  return { kind: 'sqlite', file, beside: file };
}

/** For people and logs. */
export function databaseName(database: Database): string {
  return database.kind === 'sqlite' ? database.file : `${database.url} (organization ${database.organization})`;
}

/** For what only a file has. Errors: AppError `usage`; `instead` says what to do with PostgreSQL. */
export function demandSqlite(database: Database, instead: string): SqliteDatabase {
  if (database.kind === 'sqlite') return database;
  throw new AppError(
    'usage',
    `\`${database.url}\` is a PostgreSQL database, and this works on a SQLite file: ${instead}`,
  );
}
