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

/** Of a database that has one organization, configured by the environment. */
export const DEFAULT_ORGANIZATION = 'default';

export const ORGANIZATION_ID_MAX = 63;
const ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export function isOrganizationId(text: string): boolean {
  return text.length <= ORGANIZATION_ID_MAX && ID.test(text);
}

// What can be wrong with the database and what is below it.

/**
 * `corrupt`: pages or values differ from what was written. `edited`: rows differ from what the audit records. `replaced`: a file was
 * deleted or replaced while it was open. `io`: the disk refuses without giving a reason. Of a server: `gone` does not answer, `slow` answers
 * too late, `crowded` has no connection or memory left.
 */
export type StoreFaultKind =
  | 'full'
  | 'read_only'
  | 'busy'
  | 'corrupt'
  | 'edited'
  | 'replaced'
  | 'io'
  | 'gone'
  | 'slow'
  | 'crowded';

/** INVARIANT: a successful write does not end these: nothing is changed until a restart finds them gone. */
const LASTING: readonly StoreFaultKind[] = ['corrupt', 'edited', 'replaced'];

export function isLasting({ kind }: Pick<StoreFault, 'kind'>): boolean {
  return LASTING.includes(kind);
}

export interface StoreFault {
  kind: StoreFaultKind;
  /** When it was first seen, epoch ms. */
  since: number;
  /** The fault and the remedy. It names no file, since anybody may read it. */
  text: string;
}
