// store: takes the rows of a SQLite database into an organization that has none, in one transaction. In: the source, which nobody else writes.
// Out: how many rows of each table. The source is marked just before the commit: killed before that, the source is what it was and nothing is
// here; killed after it, neither goes on until the move is repeated, which finds the rows here or takes them again.
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { headOf } from '../audit-rows.ts';
import type { SqliteDb } from '../database.ts';
import { MOVED_TO } from '../moved-mark.ts';
import type { Db, Value, Work } from '../queries.ts';
import { SqlReader } from '../reader.ts';
import { answered } from '../sqlite-work.ts';
import { drive } from './drive.ts';
import { ADD, beginWriting, LOCK } from './organization.ts';
import type { Client, PostgresPool } from './pool.ts';
import { PostgresWork } from './postgres-work.ts';
import { ahead } from './sequences.ts';
import { sumRows } from './shared-tables.ts';
import { inOrderOfReferences, type MovedTable, movedTables } from './table-order.ts';

export interface Move {
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
