// store: one SQLite connection with the pragmas that durability needs, and statements prepared once. In: a file name. Out: a SqliteDb. It never
// retries: a busy, full, read-only or corrupt database is an AppError.
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { AppError } from '../domain/errors.ts';
import { insertion, ROWS_OF_INSERT } from './insertion.ts';
import { refuseOtherTables } from './migrate.ts';
import { OpenTransaction } from './open-transaction.ts';
import { type InPlace, OpenedFile, prepareFile } from './opened-file.ts';
import type { Row, Value } from './queries.ts';
import { editedFault, meaningOf, storeError } from './store-fault.ts';
import type { StoreWatch } from './store-health.ts';

/** Every method throws AppError `store_failed`, `store_damaged` or `store_locked`, and `conflict` for a collision that requests can cause. */
export class SqliteDb {
  private readonly statements = new Map<string, Database.Statement>();
  private hasChanged = false;
  private schemaVersion: unknown;
  private beside: OpenTransaction<SqliteDb> | undefined;

  constructor(
    private readonly connection: Database.Database,
    readonly file: string,
    private readonly watch?: StoreWatch,
    /** The files that a commit must find in place. */
    private readonly files: InPlace[] = [],
  ) {}

  run(sql: string, ...values: Value[]): number {
    return this.guard(() => {
      if (!this.connection.inTransaction) this.takeBack();
      const { changes } = this.statement(sql).run(...values);
      if (changes > 0) this.hasChanged = true;
      this.reportWritten();
      return changes;
    }, sql);
  }

  all<T = Row>(sql: string, ...values: Value[]): T[] {
    return this.guard(() => this.statement(sql).all(...values) as T[], sql);
  }

  get<T = Row>(sql: string, ...values: Value[]): T | undefined {
    return this.guard(() => this.statement(sql).get(...values) as T | undefined, sql);
  }

  insert(table: string, row: Row, conflict = ''): number {
    return this.run(insertion(table, Object.keys(row), 1, conflict), ...Object.values(row));
  }

  /** Several rows in one statement: a fifth of the time. Returns the number of added rows. */
  insertMany(table: string, columns: readonly string[], rows: readonly Value[][], conflict = ''): number {
    let added = 0;
    for (let at = 0; at < rows.length; ) {
      const left = rows.length - at;
      const size = ROWS_OF_INSERT.find((count) => count <= left) as number;
      added += this.run(insertion(table, columns, size, conflict), ...rows.slice(at, at + size).flat());
      at += size;
    }
    return added;
  }

  /** Inserts a row, or updates all columns of the row with the same key. Unlike REPLACE, it keeps references to the row. */
  upsert(table: string, row: Row, key: string): void {
    const others = Object.keys(row).filter((column) => column !== key);
    this.insert(
      table,
      row,
      `ON CONFLICT (${key}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    );
  }

  /**
   * One immediate transaction: a deferred one that upgrades fails at once, regardless of the busy timeout.
   * INVARIANT: the files are in place just before the commit: what was answered as committed is in the file that a restart opens.
   */
  transaction<T>(work: () => T): T {
    return this.guard(() => {
      // INVARIANT: not nested. Inside another transaction it would be a savepoint, and not committed when it returns.
      if (this.connection.inTransaction) throw new AppError('internal', 'a transaction was begun within another one');
      this.takeBack();
      const answer = this.connection
        .transaction(() => {
          this.demandSameSchema();
          const worked = work();
          this.demandInPlace();
          return worked;
        })
        .immediate();
      this.reportWritten();
      return answer;
    });
  }

  /**
   * A transaction that a power cut may take back: for what nobody rests on and the next run completes. The next durable commit covers it.
   */
  passingTransaction<T>(work: () => T): T {
    this.exec('PRAGMA synchronous = NORMAL');
    try {
      return this.transaction(work);
    } finally {
      this.exec('PRAGMA synchronous = FULL');
    }
  }

  /**
   * Begins a transaction that stays open while others get their turn. It is on a connection of its own: reads here show the state before
   * it. INVARIANT: whoever writes here meanwhile goes first, and takes it back. Undefined for a database in memory.
   */
  begin(takenBack: () => void): OpenTransaction<SqliteDb> | undefined {
    if (this.file === ':memory:') return undefined;
    return this.guard(() => {
      if (!this.connection.open) throw new AppError('store_failed', `database \`${this.file}\` was closed meanwhile`);
      this.takeBack();
      const beside = new SqliteDb(connect(this.file), this.file, this.watch, this.files);
      beside.schemaVersion = this.schemaVersion;
      this.beside = new OpenTransaction(beside, takenBack);
      return this.beside;
    });
  }

  /** Commits what was begun with BEGIN. */
  commit(): void {
    this.demandSameSchema();
    this.demandInPlace();
    this.exec('COMMIT');
    this.reportWritten();
  }

  private takeBack(): void {
    this.beside?.takeBack();
    this.beside = undefined;
  }

  /** Several reads of one state of the database. Works on a read-only connection too. */
  snapshot<T>(work: () => T): T {
    return this.guard(() => this.connection.transaction(work).deferred());
  }

  /** Row by row, by default as values in the order of the columns. INVARIANT: the connection does nothing else meanwhile. */
  *rows<T = unknown[]>(sql: string, isRaw = true): IterableIterator<T> {
    const rows = this.guard(() => this.statement(sql).raw(isRaw).iterate() as IterableIterator<T>);
    for (;;) {
      const next = this.guard(() => rows.next());
      if (next.done) return;
      yield next.value;
    }
  }

  /** Errors: AppError `store_failed` when a file was deleted or replaced since it was opened. */
  demandInPlace(): void {
    for (const file of this.files) file.demandInPlace();
  }

  /** From now on a transaction refuses tables, indexes and triggers that another connection changed: it would run them. */
  keepSchema(): void {
    this.schemaVersion = this.guard(() => this.connection.pragma('schema_version', { simple: true }));
  }

  exec(sql: string): void {
    this.guard(() => this.connection.exec(sql));
  }

  /** A function for the statements of this connection; it replaces an earlier one of this name. */
  define(name: string, work: (...values: Value[]) => Value | undefined): void {
    this.connection.function(name, { varargs: true }, (...values: Value[]) => work(...values) ?? null);
  }

  /** Reads the present state on a connection of its own, while this one goes on writing. Not for a database in memory. */
  async elsewhere<T>(work: (snapshot: SqliteDb) => Promise<T>): Promise<T> {
    const snapshot = this.guard(
      () => new SqliteDb(new Database(this.file, { readonly: true, timeout: 5_000 }), this.file),
    );
    try {
      snapshot.exec('BEGIN');
      return await work(snapshot);
    } finally {
      snapshot.close();
    }
  }

  /** Remembers a fault that was not thrown by SQLite. */
  noteFault(fault: AppError): void {
    const meaning = meaningOf(fault);
    if (meaning) this.watch?.failed(meaning);
  }

  /** Copies the current state in one step into an empty or new file, even while another process writes. */
  async copyTo(file: string): Promise<void> {
    await this.connection
      .backup(file, { progress: ({ remainingPages }) => Math.max(1, remainingPages) })
      .catch((error) => {
        throw storeError(error, file);
      });
  }

  close(): void {
    this.takeBack();
    this.statements.clear();
    this.connection.close();
  }

  private statement(sql: string): Database.Statement {
    const known = this.statements.get(sql);
    if (known) return known;
    const prepared = this.connection.prepare(sql);
    this.statements.set(sql, prepared);
    return prepared;
  }

  private demandSameSchema(): void {
    if (this.schemaVersion === undefined) return;
    if (this.connection.pragma('schema_version', { simple: true }) === this.schemaVersion) return;
    const fault = editedFault(
      'its tables, indexes or triggers',
      'nothing is called or recorded until a restart has checked them',
    );
    this.noteFault(fault);
    throw fault;
  }

  /** Only commits count: a transaction that changed nothing wrote nothing. */
  private reportWritten(): void {
    if (!this.hasChanged || this.connection.inTransaction) return;
    this.hasChanged = false;
    this.watch?.wrote();
  }

  private guard<T>(work: () => T, sql?: string): T {
    try {
      return work();
    } catch (error) {
      this.hasChanged = false;
      const fault = storeError(error, this.file, sql);
      if (fault instanceof AppError && fault !== error) this.noteFault(fault);
      throw fault;
    }
  }
}

/**
 * Opens a database for writing; creates the folder and the file (0600) if missing. `watch` gets its failures and commits. `lock`: a
 * commit must find it in place, like the file itself and its write-ahead log.
 */
export function openDatabase(file: string, watch?: StoreWatch, lock?: InPlace): SqliteDb {
  if (file === ':memory:') return openConnection(file, watch, () => []);
  try {
    prepareFile(file);
    const opened = new OpenedFile(file); // before it is opened: one that is replaced in between is noticed too
    return openConnection(file, watch, () => [opened, new OpenedFile(`${file}-wal`), ...(lock ? [lock] : [])]);
  } catch (error) {
    throw storeError(error, file);
  }
}

function openConnection(file: string, watch: StoreWatch | undefined, files: () => InPlace[]): SqliteDb {
  try {
    const connection = connect(file);
    return new SqliteDb(connection, file, watch, files());
  } catch (error) {
    throw storeError(error, file);
  }
}

/** Errors: of SQLite. */
function connect(file: string): Database.Database {
  const connection = new Database(file, { timeout: 5_000 });
  connection.pragma('auto_vacuum = INCREMENTAL'); // of a new file only
  connection.pragma('journal_mode = WAL');
  // INVARIANT: an intent that was committed survives a power cut. WAL alone would open at NORMAL.
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  connection.pragma('trusted_schema = OFF');
  connection.pragma('user_version'); // the first reading makes the write-ahead log
  return connection;
}

/** Opens a database for reading only. Errors: AppError `store_failed` for tables of another version, `not_found` for a missing file. */
export function openReadOnly(file: string): SqliteDb {
  if (!existsSync(file))
    throw new AppError(
      'not_found',
      `there is no database at \`${file}\`: run \`trustward run\` first, or set TRUSTWARD_DB`,
    );
  try {
    const db = new SqliteDb(new Database(file, { readonly: true, timeout: 5_000 }), file);
    try {
      refuseOtherTables(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    throw storeError(error, file);
  }
}
