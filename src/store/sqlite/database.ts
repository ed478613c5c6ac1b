// store: one SQLite connection with the pragmas that durability needs, and statements prepared once. In: a file name. Out: a SqliteDb. It never
// retries: a busy, full, read-only or corrupt database is an AppError.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { open, stat, statfs } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { drained, drainedInTurns } from '../../base/turns.ts';
import type { TableDifference } from '../../domain/audit-entry.ts';
import { AppError } from '../../domain/errors.ts';
import type { DiskUse } from '../../domain/store.ts';
import { HASH_FUNCTION, hashInSql } from '../identities.ts';
import { type Db, insertion, ROWS_OF_INSERT, type Row, SQLITE, type Value, type Work } from '../queries.ts';
import { editedFault, meaningOf, storeError } from '../store-fault.ts';
import { storedJson } from '../stored-json.ts';
import { type InPlace, OpenedFile, prepareFile, type StoreWatch } from './opened-file.ts';

// Brings a database to this version's tables.

const FOLDER = new URL('../migrations/', import.meta.url);

/** The part of a connection that migrating needs. */
interface Connection {
  file: string;
  exec(sql: string): void;
  define(name: string, work: typeof hashInSql): void;
  get<T>(sql: string): T | undefined;
  transaction<T>(work: () => T): T;
}

interface Migration {
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
function refuseOtherTables(db: Connection): void {
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

// A transaction that stays open while others get their turn, on a connection of its own.

interface OpenConnection {
  readonly file: string;
  exec(sql: string): void;
  commit(): void;
  close(): void;
}

export class OpenTransaction<Beside extends OpenConnection> {
  private state: 'open' | 'taken back' | 'ended' = 'open';

  /** `takenBack` is called before the other one writes. */
  constructor(
    readonly db: Beside,
    private readonly takenBack: () => void,
  ) {
    // Its COMMIT does not move the write-ahead log into the database file too: see `moveLog`.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    // What does not fit is written to the log on the way: its COMMIT has less to write.
    db.exec('PRAGMA cache_size = -2000');
    db.exec('BEGIN IMMEDIATE');
  }

  get isTakenBack(): boolean {
    return this.state === 'taken back';
  }

  /** Others get their turn while the disk takes what is in the log so far: COMMIT waits for the rest only. Errors: AppError `store_failed`. */
  async synced(): Promise<void> {
    try {
      const log = await open(`${this.db.file}-wal`, 'r+');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      throw storeError(error, this.db.file);
    }
  }

  commit(): void {
    this.db.commit();
    this.end();
  }

  /** Without a commit, nothing of it is left. */
  end(): void {
    if (this.state !== 'open') return;
    this.state = 'ended';
    this.db.close();
  }

  takeBack(): void {
    if (this.state !== 'open') return;
    this.state = 'taken back';
    this.db.close();
    this.takenBack();
  }
}

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

/** Errors: AppError `not_found`. */
export function demandFile(file: string): void {
  if (existsSync(file)) return;
  throw new AppError(
    'not_found',
    `there is no database at \`${file}\`: run \`trustward run\` first, or set TRUSTWARD_DB`,
  );
}

/** Opens a database for reading only. Errors: AppError `store_failed` for tables of another version, `not_found` for a missing file. */
export function openReadOnly(file: string): SqliteDb {
  demandFile(file);
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

/** Rejects when the file system refuses to say. */
async function diskUse(file: string): Promise<DiskUse> {
  const [database, log, disk] = await Promise.all([sizeOf(file), sizeOf(`${file}-wal`), statfs(file)]);
  return { database, log, free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize };
}

/** 0 for a file that is not there. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

// Whether the tables, indexes and triggers of a database are those that the migrations make.

/** What differs, in words that follow "the database has"; undefined: nothing. Errors: AppError `store_failed`, `store_damaged`. */
export function strangeSchema(db: SqliteDb): string | undefined {
  const version = versionOf(db);
  if (version > (readMigrations().at(-1)?.version ?? 0)) return undefined; // of a newer version: refused elsewhere
  const expected = schemaOf(version);
  const found = textsOf(db.all<SchemaRow>(SCHEMA));
  const strange = [...found.keys()].find((what) => !expected.has(what));
  if (strange !== undefined) return `the ${strange}, which no version of Trustward made`;
  const other = [...expected].find(([what, text]) => found.get(what) !== text)?.[0];
  if (other === undefined) return undefined;
  return found.has(other) ? `another form of the ${other}` : `no ${other}`;
}

interface SchemaRow {
  type: string;
  name: string;
  sql: string | null;
}

/** Without the statistics that SQLite itself keeps. */
const SCHEMA =
  "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' OR name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'";

const known = new Map<number, ReadonlyMap<string, string>>();

function schemaOf(version: number): ReadonlyMap<string, string> {
  const before = known.get(version);
  if (before) return before;
  const db = new Database(':memory:');
  try {
    db.function(HASH_FUNCTION, hashInSql);
    for (const migration of readMigrations()) if (migration.version <= version) db.exec(migration.sql);
    const texts = textsOf(db.prepare(SCHEMA).all() as SchemaRow[]);
    known.set(version, texts);
    return texts;
  } finally {
    db.close();
  }
}

/** Versions of SQLite may quote and space differently what ALTER TABLE writes. */
function textsOf(rows: readonly SchemaRow[]): Map<string, string> {
  return new Map(rows.map(({ type, name, sql }) => [`${type} \`${name}\``, (sql ?? '').replaceAll(/[\s"]+/g, '')]));
}

/** Moving them takes a few milliseconds. */
const PAGES_AT_ONCE = 500;

/** Once they are more than a quarter: fewer are filled again soon. */
function giveBackPages(db: SqliteDb): void {
  const counts = 'SELECT freelist_count AS unused, page_count AS pages FROM pragma_freelist_count, pragma_page_count';
  const { unused = 0, pages = 0 } = db.get<{ unused: number; pages: number }>(counts) ?? {};
  if (unused > pages / 4) db.transaction(() => db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`));
}

// SQLite as programs see it.

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
