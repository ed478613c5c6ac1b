// store: what the statements of the store are written against. In: SQL and values. Out: programs in steps, which a driver takes: SQLite's
// answers each query at once, so that a program is done in one turn; PostgreSQL's waits for each. So every statement is written once.
import type { TableDifference } from '../domain/acting-tables.ts';
import type { AppError } from '../domain/errors.ts';
import type { DiskUse } from '../domain/store-figures.ts';
import type { Dialect } from './dialect.ts';

export type Value = string | number | bigint | Uint8Array | null;
export type Row = { [column: string]: Value };

/** What a program waits for: a query of its database, or nothing: others may go first. */
export type Step = { sql: string; values: readonly Value[] } | undefined;

/** A program on a database. It takes its steps with `yield*`, and never begins by itself: `Db.reading` or a transaction drives it. */
export type Work<T> = Generator<Step, T, unknown>;

/**
 * A database, for programs. The methods that return `Work` are part of a program; the others drive one. Errors of all: AppError
 * `store_failed`, `store_damaged` or `store_locked`, which name the database, and `conflict` for a collision that requests can cause.
 */
export interface Db {
  /** How messages name it: a file, or an address without a password. */
  readonly name: string;
  /** What its statements say in their own way. */
  readonly dialect: Dialect;
  /** The number of changed rows. */
  run(sql: string, ...values: Value[]): Work<number>;
  all<T = Row>(sql: string, ...values: Value[]): Work<T[]>;
  get<T = Row>(sql: string, ...values: Value[]): Work<T | undefined>;
  insert(table: string, row: Row, conflict?: string): Work<number>;
  /** Rows with values in the order of the columns, several in one statement. Returns the number of added rows. */
  insertMany(table: string, columns: readonly string[], rows: readonly Value[][], conflict?: string): Work<number>;
  /** Inserts a row, or updates all columns of the row with the same key. Unlike REPLACE, it keeps references to the row. */
  upsert(table: string, row: Row, key: string): Work<void>;
  /** Row by row, in steps: of a table with too many rows to have them at once. `isRaw`: values in the order of the columns. */
  each<T>(sql: string, visit: (row: T) => void, isRaw?: boolean): Work<void>;
  /** Several reads of one state of the database. */
  snapshot<T>(work: () => Work<T>): Work<T>;
  /** Those of these tables that there are, with the names of their columns, both in order. */
  columnsOf(tables: readonly string[]): Work<[table: string, columns: string[]][]>;
  /** What somebody changed about tables, indexes and triggers, and the table that shows it; undefined: nothing. */
  strangeSchema(): Work<TableDifference | undefined>;
  /** Drives a program that only reads. */
  reading<T>(work: Work<T>): T | Promise<T>;
  /** Drives a program that changes something beside the units of work: rows that no audit entry is about. */
  transaction<T>(work: () => Work<T>): Promise<T>;
  /** The same, which a power cut may take back: for what nobody rests on and the next run completes. */
  passingTransaction<T>(work: () => Work<T>): Promise<T>;
  /** Reads the present state beside this connection, which goes on writing; it gives way between the steps. */
  elsewhere<T>(work: (snapshot: Db) => Work<T>): Promise<T>;
  /** Gives space that is no longer used back to the file system, a little at a time, where that is ours to do. */
  giveBackSpace(): void;
  diskUse(): Promise<DiskUse>;
  /** Remembers a fault that was not thrown by the database. */
  noteFault(fault: AppError): void;
  close(): void | Promise<void>;
}

const ITEMS_OF_STEP = 100;

/** A program for each item of a long list; now and then others may go first. */
export function* eachWork<T>(all: Iterable<T>, work: (one: T) => Work<unknown>, atOnce = ITEMS_OF_STEP): Work<void> {
  let done = 0;
  for (const one of all) {
    yield* work(one);
    done += 1;
    if (done % atOnce === 0) yield;
  }
}

/** What a program finds for each of these, in their order. */
export function* ofEach<T, Found>(all: Iterable<T>, work: (one: T) => Work<readonly Found[]>): Work<Found[]> {
  const found: Found[] = [];
  for (const one of all) found.push(...(yield* work(one)));
  return found;
}
