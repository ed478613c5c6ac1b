// store: PostgreSQL as programs see it, for one organization. In: a pool. Out: each query a step, which whoever drives the program takes on the
// connection of its transaction.

import type { TableDifference } from '../../domain/audit-entry.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { DiskUse } from '../../domain/store.ts';
import { ACTING_TABLES } from '../acting-tables.ts';
import { headOf } from '../audit-rows.ts';
import { type Db, type Dialect, insertion, type Row, type Value, type Work } from '../queries.ts';
import { SqlReader } from '../reader.ts';
import { MOVED_TO } from '../sqlite/backup.ts';
import { answered, type SqliteDb } from '../sqlite/database.ts';
import { ADD, beginReading, beginWriting, LOCK, named, WORK_ROLE } from './organization.ts';
import type { Client, PostgresPool, Transactions } from './pool.ts';
import { drive, type Found, rowsOf, sumRows } from './shared-tables.ts';

const POSTGRES: Dialect = {
  by: () => '',
  unindexed: '',
  conflict: (columns) => `ON CONFLICT (org, ${columns})`,
  planned: 'planned',
  releases: 'releases',
  auditTarget: 'target',
  auditActor: 'actor',
  noteChange: (table, is, key) => `INSERT INTO row_changes (relation, is_added, content)
    SELECT '${table}', ${is === 'added'}, row_to_json(${table})::text FROM ${table} WHERE ${key} = ?`,
};

// Whether the triggers and the walls between organizations are those that the migrations make.

const APPEND_ONLY = [
  'audit audit_no_update',
  'audit audit_no_delete',
  'audit audit_no_truncate',
  'checkpoints checkpoints_no_change',
  'checkpoints checkpoints_no_truncate',
  'audit_archives audit_archives_no_change',
  'audit_archives audit_archives_no_truncate',
];
const OWNERS = 'endpoint_tokens note_owner';
/** The version before refuses triggers that it does not know: what changes there is noted by the statements (`Dialect.noteChange`). */
const NOTED: readonly string[] = ['exemption_members', 'notices', 'passkeys', 'rollouts'];
const FOLLOWING = ACTING_TABLES.filter((table) => !NOTED.includes(table)).flatMap((table) =>
  ['insert', 'update', 'delete'].map((event) => `${table} follow_${event}`),
);
const EXPECTED: readonly string[] = [...APPEND_ONLY, ...FOLLOWING, OWNERS];

const TRIGGERS = `SELECT relname AS "table", tgname AS name, tgenabled AS enabled FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE relnamespace = 'trustward'::regnamespace AND NOT tgisinternal`;

/** As `keep_apart` makes it: of all roles and statements, and the one that there is. */
const WALL = '(org = trustward.organization())';
const OPEN = `SELECT relname AS "table" FROM pg_class WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r'
  AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'org')
  AND NOT (relrowsecurity AND relforcerowsecurity AND coalesce((
    SELECT count(*) = 1 AND bool_and(polcmd = '*' AND polroles = '{0}' AND polwithcheck IS NULL
      AND pg_get_expr(polqual, polrelid) IN ('${WALL}', '(org = organization())'))
    FROM pg_policy WHERE polrelid = pg_class.oid), false)) LIMIT 1`;
/** Row level security holds for it. */
const UNBOUND = `SELECT 1 FROM pg_roles WHERE rolname = '${WORK_ROLE}' AND (rolsuper OR rolbypassrls)`;

/** The first table that differs; undefined: none. */
function* strangeTables(db: Db): Work<TableDifference | undefined> {
  const rows = yield* db.all<{ table: string; name: string; enabled: string }>(TRIGGERS);
  const found = new Map(rows.map(({ table, name, enabled }) => [`${table} ${name}`, enabled]));
  const strange = [...found.keys()].find((key) => !EXPECTED.includes(key));
  if (strange !== undefined)
    return differenceOf(strange, (name) => `the trigger ${name}, which no version of Trustward made`);
  const missing = EXPECTED.find((key) => !/^[OA]$/.test(found.get(key) ?? ''));
  if (missing !== undefined) return differenceOf(missing, (name) => `no trigger ${name} that is on`);
  const open = yield* db.get<{ table: string }>(OPEN);
  if (open) return { table: open.table, text: 'no wall between organizations' };
  const unbound = yield* db.get(UNBOUND);
  const text = `the role \`${WORK_ROLE}\`, which sees all organizations (BYPASSRLS or SUPERUSER)`;
  return unbound && { table: 'pg_roles', text };
}

function differenceOf(key: string, text: (name: string) => string): TableDifference {
  const [table = '', name] = key.split(' ');
  return { table, text: text(`\`${name}\``) };
}

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

const NUMBERED = `SELECT relname AS "table", attname AS "column", pg_get_serial_sequence('trustward.' || relname, attname) AS sequence
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relnamespace = 'trustward'::regnamespace AND attidentity <> '' AND relname <> 'row_changes' ORDER BY 1`;

interface Numbered {
  table: string;
  column: string;
  sequence: string;
}

/** In the order of their names, so that two moves do not wait for each other. The role that logged in owns them. */
async function ahead(client: Client, organization: string): Promise<void> {
  const { rows } = await client.query<Numbered>(NUMBERED);
  for (const { table, column, sequence } of rows) {
    const most = await client.query(`SELECT coalesce(max(${column}), 0) AS most FROM trustward.${table}`);
    await client.query('SET LOCAL ROLE NONE');
    // INVARIANT: changing it, even into itself, locks it until the commit: no number is given between reading and setting.
    await client.query(`ALTER SEQUENCE ${sequence} NO CYCLE`);
    const last = await client.query(`SELECT last_value FROM ${sequence}`);
    const next = BigInt(most.rows[0].most) + 1n;
    if (next > BigInt(last.rows[0].last_value)) await client.query(`ALTER SEQUENCE ${sequence} RESTART WITH ${next}`);
    await client.query(named(organization));
  }
}

// Which tables a move takes from SQLite, and in which order.

interface MovedTable {
  name: string;
  columns: readonly string[];
}

/** SQLite numbers rows by itself; where that number is the order of a list, PostgreSQL has a column for it. */
const NUMBER = 'rowid';

function* movedTables(db: Db, source: SqliteDb): Work<MovedTable[]> {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
  const names = source.all<{ name: string }>(sql).map(({ name }) => name);
  const here = new Map(yield* db.columnsOf(names));
  return answered(source, (theirs) => theirs.columnsOf(names)).map(([name, columns]) => {
    const taken = here.get(name) ?? [];
    const missing = columns.find((column) => !taken.includes(column));
    const added = taken.find((column) => column !== NUMBER && !columns.includes(column));
    if (missing !== undefined) throw unlike(db, `${name}.${missing}`);
    if (added !== undefined) throw unlike(db, `${name}.${added}`);
    return { name, columns: taken };
  });
}

function unlike(db: Db, column: string): AppError {
  const text = `the file and \`${db.name}\` have different columns (\`${column}\`): use the same version of Trustward for both`;
  return new AppError('store_failed', text);
}

function inOrderOfReferences(source: SqliteDb, tables: readonly MovedTable[]): MovedTable[] {
  const sorted = new Set<MovedTable>();
  const add = (table: MovedTable | undefined): void => {
    if (table === undefined || sorted.has(table)) return;
    const rows = source.all<{ table: string }>(`PRAGMA foreign_key_list(${table.name})`);
    for (const { table: referred } of rows)
      if (referred !== table.name) add(tables.find(({ name }) => name === referred));
    sorted.add(table);
  };
  for (const table of tables) add(table);
  return [...sorted];
}

// Takes the rows of a SQLite database into an organization that has none, in one transaction.

interface Move {
  pool: PostgresPool;
  organization: string;
  source: SqliteDb;
  clock: Clock;
  /** Throws unless the rows here are a whole record. */
  check(reader: SqlReader): Promise<void>;
  /** Marks the source, and records that in its audit. */
  mark(): Promise<void>;
}

/** By table. */
export type MovedRows = ReadonlyMap<string, number>;

/** Errors: AppError `conflict` when the organization has rows already, `store_failed`; those of `check` and `mark`. */
export async function moveRows({ pool, organization, source, clock, check, mark }: Move): Promise<MovedRows> {
  return pool.transaction(beginWriting(organization), async (client) => {
    await client.query(ADD);
    await client.query(LOCK);
    const db = new InTransaction(pool, organization, client);
    await db.reading(demandEmpty(db, organization));
    const counts = await source.elsewhere((snapshot) => db.reading(copied(db, snapshot)));
    await db.reading(sumRows(db));
    await check(new SqlReader(db, clock));
    await ahead(client, organization);
    await mark();
    await db.reading(copyEnd(db, source));
    return counts;
  });
}

/** Whether this organization goes on from where the source ended. */
export function* isContinued(db: Db, source: SqliteDb): Work<boolean> {
  const { seq, hash } = answered(source, headOf);
  return (yield* db.get('SELECT 1 FROM audit WHERE seq = ? AND hash = ?', seq, hash)) !== undefined;
}

/** Programs read what their own transaction wrote. */
class InTransaction extends PostgresWork {
  constructor(
    pool: PostgresPool,
    organization: string,
    private readonly client: Client,
  ) {
    super(pool, organization);
  }

  override reading<T>(work: Work<T>): Promise<T> {
    return drive(this.client, this.name, work);
  }
}

/** Rows of these belong to the database and not to the record of the organization. */
const OF_THE_DATABASE = ['organizations', 'leases', 'row_changes', 'row_sums'];

/** Errors: AppError `conflict`. */
export function* demandEmpty(db: Db, organization: string): Work<void> {
  const sql = `SELECT relname AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r' AND attname = 'org' AND NOT attisdropped ORDER BY 1`;
  for (const { name } of yield* db.all<{ name: string }>(sql)) {
    if (OF_THE_DATABASE.includes(name)) continue;
    if ((yield* db.get(`SELECT 1 FROM ${name} LIMIT 1`)) === undefined) continue;
    const text = `organization \`${organization}\` has rows in \`${db.name}\` already (table \`${name}\`)`;
    throw new AppError('conflict', `${text}: a move needs one that nothing was recorded of; give another --org`);
  }
}

function* copied(db: Db, source: SqliteDb): Work<MovedRows> {
  const counts = new Map<string, number>();
  for (const table of inOrderOfReferences(source, yield* movedTables(db, source))) {
    const added = yield* copyTable(db, source, table);
    const found = yield* db.get<{ count: number }>(`SELECT count(*) AS count FROM ${table.name}`);
    if (found?.count !== added) throw lost(table.name, Number(found?.count), added);
    counts.set(table.name, added);
  }
  return counts;
}

const ROWS_AT_ONCE = 250;
/** Characters and bytes: a run or a plan may have megabytes. */
const SIZE_AT_ONCE = 2_000_000;

function* copyTable(db: Db, source: SqliteDb, { name, columns }: MovedTable): Work<number> {
  const where = name === 'meta' ? `WHERE key <> '${MOVED_TO}'` : '';
  let [rows, size, read]: [Value[][], number, number] = [[], 0, 0];
  for (const row of source.rows<Value[]>(`SELECT ${columns.join(', ')} FROM ${name} ${where}`)) {
    rows.push(row);
    size += row.reduce<number>((sum, value) => sum + sizeOf(value), 0);
    read += 1;
    if (rows.length < ROWS_AT_ONCE && size < SIZE_AT_ONCE) continue;
    yield* db.insertMany(name, columns, rows);
    [rows, size] = [[], 0];
  }
  yield* db.insertMany(name, columns, rows);
  return read;
}

function sizeOf(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

const ENTRY = ['seq', 'at', 'kind', 'bytes', 'prev', 'hash'];

/** What marking the source added to its audit. */
function* copyEnd(db: Db, source: SqliteDb): Work<void> {
  const here = yield* headOf(db);
  const sealed = yield* db.get<{ size: number | null }>('SELECT max(size) AS size FROM checkpoints');
  const entries = source.rows<Value[]>(`SELECT ${ENTRY.join(', ')} FROM audit WHERE seq > ${here.seq} ORDER BY seq`);
  yield* db.insertMany('audit', ENTRY, [...entries]);
  const lines = source.rows<Value[]>(`SELECT size, line FROM checkpoints WHERE size > ${sealed?.size ?? 0}`);
  yield* db.insertMany('checkpoints', ['size', 'line'], [...lines]);
  const [end, theirs] = [yield* headOf(db), answered(source, headOf)];
  if (end.seq !== theirs.seq || end.hash !== theirs.hash) throw lost('audit', end.seq, theirs.seq);
}

function lost(table: string, here: number, there: number): AppError {
  const text = `table \`${table}\` has ${here} rows after the move, and ${there} in the file: nothing was moved`;
  return new AppError('store_failed', text);
}
