// store: SQLite as programs see it. In: a connection. Out: each query answered at once, so that a program never waits: no other work of this
// process comes between its steps, unless it gives way.
import type { TableDifference } from '../domain/acting-tables.ts';
import type { AppError } from '../domain/errors.ts';
import { drained, drainedInTurns } from '../domain/give-way.ts';
import type { DiskUse } from '../domain/store-figures.ts';
import type { SqliteDb } from './database.ts';
import { SQLITE } from './dialect.ts';
import { diskUse } from './disk-use.ts';
import type { Db, Row, Value, Work } from './queries.ts';
import { strangeSchema } from './schema.ts';
import { storedJson } from './stored-json.ts';
import { giveBackPages } from './unused-pages.ts';

const ROWS_OF_STEP = 100;

/** What a program finds or does on this connection, in one turn. */
export function answered<T>(db: SqliteDb, work: (db: Db) => Work<T>): T {
  return drained(work(new SqliteWork(db)));
}

export class SqliteWork implements Db {
  readonly dialect = SQLITE;

  constructor(readonly connection: SqliteDb) {}

  get name(): string {
    return this.connection.file;
  }

  *run(sql: string, ...values: Value[]): Work<number> {
    return this.connection.run(sql, ...values);
  }

  *all<T = Row>(sql: string, ...values: Value[]): Work<T[]> {
    return this.connection.all<T>(sql, ...values);
  }

  *get<T = Row>(sql: string, ...values: Value[]): Work<T | undefined> {
    return this.connection.get<T>(sql, ...values);
  }

  *insert(table: string, row: Row, conflict?: string): Work<number> {
    return this.connection.insert(table, row, conflict);
  }

  *insertMany(table: string, columns: readonly string[], rows: readonly Value[][], conflict?: string): Work<number> {
    return this.connection.insertMany(table, columns, rows, conflict);
  }

  *upsert(table: string, row: Row, key: string): Work<void> {
    this.connection.upsert(table, row, key);
  }

  *each<T>(sql: string, visit: (row: T) => void, isRaw = false): Work<void> {
    let rows = 0;
    for (const row of this.connection.rows<T>(sql, isRaw)) {
      visit(row);
      rows += 1;
      if (rows % ROWS_OF_STEP === 0) yield;
    }
  }

  *snapshot<T>(work: () => Work<T>): Work<T> {
    return this.connection.snapshot(() => drained(work()));
  }

  *columnsOf(tables: readonly string[]): Work<[table: string, columns: string[]][]> {
    const sql = `SELECT json_each.value AS name, json_group_array(pragma_table_info.name) AS columns
      FROM json_each(?), pragma_table_info(json_each.value) GROUP BY 1 ORDER BY 1`;
    const found = this.connection.all<{ name: string; columns: string }>(sql, JSON.stringify(tables));
    return found.map(({ name, columns }) => [name, storedJson<string[]>(columns).sort()]);
  }

  *strangeSchema(): Work<TableDifference | undefined> {
    const text = strangeSchema(this.connection);
    return text === undefined ? undefined : { table: 'sqlite_schema', text };
  }

  reading<T>(work: Work<T>): T {
    return drained(work);
  }

  async transaction<T>(work: () => Work<T>): Promise<T> {
    return this.connection.transaction(() => drained(work()));
  }

  async passingTransaction<T>(work: () => Work<T>): Promise<T> {
    return this.connection.passingTransaction(() => drained(work()));
  }

  /** A database in memory has no second connection. */
  async elsewhere<T>(work: (snapshot: Db) => Work<T>): Promise<T> {
    if (this.connection.file === ':memory:') return this.connection.snapshot(() => drained(work(this)));
    return this.connection.elsewhere((snapshot) => drainedInTurns(work(new SqliteWork(snapshot))));
  }

  giveBackSpace(): void {
    giveBackPages(this.connection);
  }

  diskUse(): Promise<DiskUse> {
    return diskUse(this.connection.file);
  }

  noteFault(fault: AppError): void {
    this.connection.noteFault(fault);
  }

  close(): void {
    this.connection.close();
  }
}
