// console store: the context of every operation on the organization. In: an open database and a clock. Out: a
// ConsoleStore. It must never read the time by itself.

import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';

// console store: opens the console's own SQLite file and brings its schema up to date. In: a file name or ':memory:'.
// Out: an open database. It must never open a file of a newer schema, and never leave a partial migration.

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

// SQLite statements, prepared once and kept by their text.

export type SqlValue = string | number | bigint | null;

export class Sql {
  readonly #rows = new Map<string, Database.Statement>();
  readonly #columns = new Map<string, Database.Statement>();

  constructor(readonly db: Database.Database) {}

  /** Runs a change; returns how many rows it touched. */
  run(text: string, ...values: SqlValue[]): number {
    return this.#row(text).run(...values).changes;
  }

  /** Adds a row; returns its key. */
  insert(table: string, row: { [column: string]: SqlValue }): number {
    const names = Object.keys(row);
    const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    return Number(this.#row(text).run(...Object.values(row)).lastInsertRowid);
  }

  /** Writes these columns of the row with this key. */
  update(table: string, pk: number, row: { [column: string]: SqlValue }): void {
    const columns = Object.keys(row).map((name) => `${name} = ?`);
    this.run(`UPDATE ${table} SET ${columns.join(', ')} WHERE pk = ?`, ...Object.values(row), pk);
  }

  /** The first row. Integers are numbers: don't select times in nanoseconds, they would be rounded. */
  get<T>(text: string, ...values: SqlValue[]): T | undefined {
    return this.#row(text).get(...values) as T | undefined;
  }

  all<T>(text: string, ...values: SqlValue[]): T[] {
    return this.#row(text).all(...values) as T[];
  }

  /** The first column of the first row. */
  value<T>(text: string, ...values: SqlValue[]): T | undefined {
    return this.#column(text).get(...values) as T | undefined;
  }

  /** The first column of all rows. */
  values<T>(text: string, ...values: SqlValue[]): T[] {
    return this.#column(text).all(...values) as T[];
  }

  /** One transaction, taken for writing from its start; inside another one it joins it. */
  atomically<T>(work: () => T): T {
    return this.db.inTransaction ? work() : this.db.transaction(work).immediate();
  }

  /** A statement whose integers are bigints, for what must keep 19 digits. */
  exact(text: string): Database.Statement {
    const key = `exact:${text}`;
    let statement = this.#rows.get(key);
    if (!statement) {
      statement = this.db.prepare(text).safeIntegers(true);
      this.#rows.set(key, statement);
    }
    return statement;
  }

  #row(text: string): Database.Statement {
    let statement = this.#rows.get(text);
    if (!statement) {
      statement = this.db.prepare(text);
      this.#rows.set(text, statement);
    }
    return statement;
  }

  #column(text: string): Database.Statement {
    let statement = this.#columns.get(text);
    if (!statement) {
      statement = this.db.prepare(text).pluck();
      this.#columns.set(text, statement);
    }
    return statement;
  }
}

export interface ConsoleStore {
  sql: Sql;
  clock: Clock;
  org: { id: string; name: string };
  /** How many events are kept (10,000 by the field notes) and how long. */
  retention: Retention;
  /** Times that no more events may have, with the next time to try (see events.ts). */
  fullTimes: { made: Map<number, number>; sent: Map<number, number> };
  /** The last part of the ServiceID of a new service. */
  serviceSuffix: string;
}

export interface Retention {
  eventsMax: number;
  eventsMs: number;
}

/** Who changes something, and how: over the API, directly in the console, or by life itself. */
export interface Actor {
  name: string;
  via: 'api' | 'hand' | 'life';
}

const SERVICE_SUFFIX_DEFAULT = 'tw';

/**
 * `orgSeed` makes the organization's id repeatable; without one it is random. Both only count at the first start. A suffix of ServiceIDs is
 * kept, until another one is given for new services.
 */
export function makeStore(
  db: Database.Database,
  clock: Clock,
  retention: Retention,
  orgSeed: number | undefined,
  serviceSuffix?: string,
): ConsoleStore {
  const sql = new Sql(db);
  const id = keepMeta(sql, 'org_id', () =>
    uuidFrom(orgSeed === undefined ? randomBytes(16).toString('hex') : `org:${orgSeed}`),
  );
  const name = keepMeta(sql, 'org_name', () => 'acme');
  if (serviceSuffix !== undefined) setMeta(sql, 'service_suffix', serviceSuffix);
  return {
    sql,
    clock,
    org: { id, name },
    retention,
    fullTimes: { made: new Map(), sent: new Map() },
    serviceSuffix: readMeta(sql, 'service_suffix') ?? SERVICE_SUFFIX_DEFAULT,
  };
}

/** The kept value of a name; made and kept when none exists. */
export function keepMeta(sql: Sql, name: string, make: () => string): string {
  const kept = sql.value<string>('SELECT value FROM meta WHERE name = ?', name);
  if (kept !== undefined) return kept;
  const value = make();
  setMeta(sql, name, value);
  return value;
}

export function readMeta(sql: Sql, name: string): string | undefined {
  return sql.value<string>('SELECT value FROM meta WHERE name = ?', name);
}

export function setMeta(sql: Sql, name: string, value: string): void {
  sql.run('INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value', name, value);
}

/** The next of a kept series of numbers: ids made from it repeat with the seed, and never within one database. */
export function nextNumber(sql: Sql, series: string): number {
  return sql.value<number>(
    'INSERT INTO meta VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING CAST(value AS INTEGER)',
    `series:${series}`,
  ) as number;
}

/** A UUID (in the form of version 4) out of any text: the same text gives the same UUID. */
export function uuidFrom(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A new UUID of this organization. */
export function newUuid(store: ConsoleStore, series: string): string {
  return uuidFrom(`${store.org.id}:${series}:${nextNumber(store.sql, series)}`);
}

export function nowNs(store: ConsoleStore): bigint {
  return BigInt(Math.floor(store.clock.nowMs())) * 1_000_000n;
}
