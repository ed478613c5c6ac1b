// store: PostgreSQL as programs see it, for one organization. In: a pool. Out: each query a step, which whoever drives the program takes on the
// connection of its transaction.
import type { TableDifference } from '../../domain/acting-tables.ts';
import type { AppError } from '../../domain/errors.ts';
import type { DiskUse } from '../../domain/store-figures.ts';
import { insertion } from '../insertion.ts';
import type { Db, Row, Value, Work } from '../queries.ts';
import { POSTGRES } from './dialect.ts';
import { drive } from './drive.ts';
import { beginReading, LOCK, named } from './organization.ts';
import type { Client, PostgresPool, Transactions } from './pool.ts';
import { strangeTables } from './schema.ts';
import { type Found, rowsOf } from './statement.ts';

/** Each is one prepared statement, with at most some ten thousand values. */
const ROWS_OF_INSERT = [250, 20, 1];
const ROWS_OF_STEP = 500;

export class PostgresWork implements Db {
  readonly dialect = POSTGRES;
  private cursors = 0;
  private readonly columns = new Map<string, [table: string, columns: string[]][]>();

  /** `units`: where this one writes: with the lease of an actor, its own connection. */
  constructor(
    private readonly pool: PostgresPool,
    private readonly organization: string,
    readonly units: Transactions = pooled(pool),
    /** Nobody else uses the pool: it ends with this. */
    private readonly isOwner = false,
  ) {}

  get name(): string {
    return this.pool.place;
  }

  *run(sql: string, ...values: Value[]): Work<number> {
    return (yield* this.query(sql, values)).rowCount ?? 0;
  }

  *all<T = Row>(sql: string, ...values: Value[]): Work<T[]> {
    return rowsOf<T>(yield* this.query(sql, values));
  }

  *get<T = Row>(sql: string, ...values: Value[]): Work<T | undefined> {
    return rowsOf<T>(yield* this.query(sql, values))[0];
  }

  *insert(table: string, row: Row, conflict = ''): Work<number> {
    return yield* this.run(insertion(table, Object.keys(row), 1, conflict), ...Object.values(row));
  }

  *insertMany(table: string, columns: readonly string[], rows: readonly Value[][], conflict = ''): Work<number> {
    let added = 0;
    for (let at = 0; at < rows.length; ) {
      const left = rows.length - at;
      const size = ROWS_OF_INSERT.find((count) => count <= left) as number;
      added += yield* this.run(insertion(table, columns, size, conflict), ...rows.slice(at, at + size).flat());
      at += size;
    }
    return added;
  }

  *upsert(table: string, row: Row, key: string): Work<void> {
    const others = Object.keys(row).filter((column) => column !== key);
    const updates = others.map((column) => `${column} = excluded.${column}`).join(', ');
    yield* this.insert(table, row, `${POSTGRES.conflict(key)} DO UPDATE SET ${updates}`);
  }

  *each<T>(sql: string, visit: (row: T) => void, isRaw = false): Work<void> {
    // Most tables are small, and then one statement does.
    const few = yield* this.query(`${sql} LIMIT ${ROWS_OF_STEP}`, []);
    if (few.rows.length < ROWS_OF_STEP) {
      for (const row of isRaw ? (few.rows as T[]) : rowsOf<T>(few)) visit(row);
      return;
    }
    this.cursors += 1;
    const cursor = `trustward_${this.cursors}`;
    yield* this.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, []);
    for (;;) {
      const found = yield* this.query(`FETCH ${ROWS_OF_STEP} FROM ${cursor}`, []);
      for (const row of isRaw ? (found.rows as T[]) : rowsOf<T>(found)) visit(row);
      if (found.rows.length < ROWS_OF_STEP) break;
      yield;
    }
    yield* this.query(`CLOSE ${cursor}`, []);
  }

  /** A reading transaction shows one state, and in a unit nobody else writes. */
  *snapshot<T>(work: () => Work<T>): Work<T> {
    return yield* work();
  }

  /** Asked for once: migrations add tables and columns, and a neighbouring version does without them. */
  *columnsOf(tables: readonly string[]): Work<[table: string, columns: string[]][]> {
    const key = JSON.stringify(tables);
    const known = this.columns.get(key) ?? (yield* this.readColumns(key));
    if (known.length > 0) this.columns.set(key, known);
    return known;
  }

  private *readColumns(tables: string): Work<[table: string, columns: string[]][]> {
    const sql = `SELECT relname AS name, attname AS column FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        AND attname <> 'org' AND relname IN (SELECT value FROM json_each(?))`;
    const columns = new Map<string, string[]>();
    for (const { name, column } of yield* this.all<{ name: string; column: string }>(sql, tables))
      columns.set(name, [...(columns.get(name) ?? []), column].sort());
    return [...columns].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  *strangeSchema(): Work<TableDifference | undefined> {
    return yield* strangeTables(this);
  }

  async reading<T>(work: Work<T>): Promise<T> {
    return this.pool.transaction(beginReading(this.organization), (client) => drive(client, this.name, work));
  }

  async transaction<T>(work: () => Work<T>): Promise<T> {
    return this.written(work, '');
  }

  async passingTransaction<T>(work: () => Work<T>): Promise<T> {
    return this.written(work, 'SET LOCAL synchronous_commit = off');
  }

  async elsewhere<T>(work: (snapshot: Db) => Work<T>): Promise<T> {
    return this.reading(work(this));
  }

  /** The server does it by itself. */
  giveBackSpace(): void {}

  /** All organizations of the database together. What its disk still takes, the server does not show to us. */
  async diskUse(): Promise<DiskUse> {
    const sql = 'SELECT pg_database_size(current_database()) AS bytes';
    const found = await this.reading(this.get<{ bytes: number }>(sql));
    return { database: Number(found?.bytes), log: 0, free: Number.NaN, size: Number.NaN };
  }

  noteFault(fault: AppError): void {
    this.pool.noteFault(fault);
  }

  /** The pool is of the process, and others read with it. */
  close(): void | Promise<void> {
    return this.isOwner ? this.pool.close() : undefined;
  }

  private *query(sql: string, values: readonly Value[]): Work<Found> {
    return (yield { sql, values }) as Found;
  }

  private async written<T>(work: () => Work<T>, setting: string): Promise<T> {
    const answer = await this.units.transaction(async (client) => {
      await client.query(`${named(this.organization)}; ${setting}`);
      await client.query(LOCK);
      return drive(client, this.name, work());
    });
    this.pool.wrote();
    return answer;
  }
}

function pooled(pool: PostgresPool): Transactions {
  return { transaction: (work) => pool.transaction('BEGIN', (client: Client) => work(client)) };
}
