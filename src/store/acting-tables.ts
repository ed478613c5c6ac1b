// store: the tables that acting rests on, and what the audit records of them. In: a database. Out: the digests of their rows, and the tables
// that differ from the record. A writer follows what it changes (`ChangedTables`); it never repairs.

import { createHash, hash } from 'node:crypto';
import type { JudgeEnd, TableDifference, TableDigests } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import { entryOfRow, lastCheckpoint } from './audit-rows.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

// What the audit records of the acting tables: the last checkpoint has the digest of each table, and an entry after it
// those that its transaction changed.

/** Empty in a database of an older version. Errors: AppError `store_damaged`. */
export function* recordedDigests(db: Db): Work<TableDigests> {
  if (!(yield* hasTable(db, 'checkpoints'))) return {};
  const last = yield* lastCheckpoint(db);
  const sealed = last && storedJson<Pick<Checkpoint, 'tables'>>(last.line).tables;
  const sql = `SELECT bytes FROM audit WHERE seq > ? AND instr(bytes, '"digests":') > 0 ORDER BY seq`;
  const later = yield* db.all<{ bytes: string }>(sql, last?.size ?? 0);
  return Object.assign({}, sealed, ...later.map(({ bytes }) => storedJson<{ digests?: TableDigests }>(bytes).digests));
}

/** What is wrong with the end of the chain, in words that follow "the audit has"; undefined: nothing. Errors: AppError `store_damaged`. */
export function* strangeEnd(db: Db, judge: JudgeEnd | undefined): Work<string | undefined> {
  if (!judge || !(yield* hasTable(db, 'checkpoints'))) return undefined;
  const sealed = yield* lastCheckpoint(db);
  const isSigned = Object.keys(yield* recordedDigests(db)).length > 0;
  if (!sealed && !isSigned) return undefined; // an older version wrote all of it
  const rows = yield* db.all(
    'SELECT seq, at, kind, bytes, prev, hash FROM audit WHERE seq >= ? ORDER BY seq',
    sealed?.size ?? 0,
  );
  const entries = rows.map(entryOfRow);
  return judge({ sealed, entries, isSigned });
}

function* hasTable(db: Db, name: string): Work<boolean> {
  return (yield* db.columnsOf([name])).length > 0;
}

// A digest of a set of rows that follows every insert and delete without reading the others.

const LANES = 1_024;

export class RowSum {
  constructor(
    private rows = 0,
    private readonly lanes: Uint16Array = new Uint16Array(LANES),
  ) {}

  add(row: string): void {
    const own = lanesOf(row);
    for (let at = 0; at < LANES; at += 1) this.lanes[at] = (this.lanes[at] as number) + (own[at] as number);
    this.rows += 1;
  }

  remove(row: string): void {
    const own = lanesOf(row);
    for (let at = 0; at < LANES; at += 1) this.lanes[at] = (this.lanes[at] as number) - (own[at] as number);
    this.rows -= 1;
  }

  /** As it was stored. */
  static of(rows: number, bytes: Uint8Array): RowSum {
    return new RowSum(rows, new Uint16Array(Uint8Array.from(bytes).buffer));
  }

  get count(): number {
    return this.rows;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.lanes.buffer, this.lanes.byteOffset, this.lanes.byteLength);
  }

  copy(): RowSum {
    return new RowSum(this.rows, this.lanes.slice());
  }

  digest(): string {
    return `${this.rows}:${hash('sha256', this.bytes(), 'hex').slice(0, HASH_DIGITS)}`;
  }
}

/** 128 bits: finding another input for a given digest is out of reach. */
const HASH_DIGITS = 32;

function lanesOf(row: string): Uint16Array {
  const bytes = createHash('shake128', { outputLength: 2 * LANES })
    .update(row)
    .digest();
  return new Uint16Array(bytes.buffer, bytes.byteOffset, LANES);
}

/** Each with the columns that decide nothing and are written without an audit entry. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  acceptances: [],
  attempt_counts: [],
  attempts: [],
  baselines: [],
  claims: [],
  endpoint_tokens: ['used_at'],
  episode_seen: [],
  episodes: [],
  exemption_members: [],
  exemptions: [],
  intent_episodes: [],
  intents: [],
  notices: [],
  passkeys: ['used_at'],
  planned_intents: [],
  plans: [],
  rejected_intents: [],
  rollouts: ['passed_ms', 'counted_at'],
  stop_switch: [],
};

export const ACTING_TABLES: readonly string[] = Object.keys(TABLES);

export const EMPTY = new RowSum().digest();

/** The digests of a writer's own changes. INVARIANT: it is told how every transaction ended. */
export interface ChangedTables {
  readonly isAccepting: boolean;
  /** Tables whose rows were not those of the record when it looked. */
  differences(): readonly TableDifference[];
  /** Reads one table again, for what is obeyed without a call: only small tables. */
  differenceOf(db: Db, table: string): Work<TableDifference | undefined>;
  /** Whether a row changed in this transaction since this was asked last. */
  takeChange(db: Db): Work<boolean>;
  /** What the last entry of this transaction records. A table that differs is not in it: the difference stays until a person accepts it. */
  toRecord(db: Db): Work<TableDigests>;
  /** What a checkpoint records: every table. Undefined: the record cannot be read, so nothing can be sealed. */
  all(db: Db): Work<TableDigests | undefined>;
  /** A person accepts the rows as they are: this transaction records them. */
  accept(): void;
  committed(recorded: TableDigests): void;
  rolledBack(): void;
}

interface ReadTables {
  sums: Map<string, RowSum>;
  recorded: TableDigests;
  differing: TableDifference[];
}

export const UNREADABLE = Object.keys(TABLES).map((table) => ({ table, text: 'rows that cannot be read' }));

/** Undefined when the database is damaged there: its connection has noted the fault. */
export function* readTables(db: Db): Work<ReadTables | undefined> {
  try {
    const recorded = yield* recordedDigests(db);
    const sums = yield* sumsOf(db);
    return { sums, recorded, differing: differencesOf(sums, recorded) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'store_damaged') return undefined;
    throw error;
  }
}

/**
 * The tables that differ from the record, in one state of the database; of a file on a connection of its own, which gives way.
 * Errors: AppError `store_failed`, `store_damaged`.
 */
export async function tableDifferences(db: Db, judgeEnd: JudgeEnd | undefined): Promise<readonly TableDifference[]> {
  return db.elsewhere(function* (snapshot) {
    const recorded = yield* recordedDigests(snapshot);
    const others = yield* othersOf(snapshot, judgeEnd);
    return [...others, ...differencesOf(yield* sumsOf(snapshot), recorded)];
  });
}

/** The same at once. */
export function* differencesNow(db: Db): Work<readonly TableDifference[]> {
  return (yield* readTables(db))?.differing ?? UNREADABLE;
}

/** Nothing differs where nothing is recorded: the database is new, or an older version wrote it. */
export function differencesOf(sums: ReadonlyMap<string, RowSum>, recorded: TableDigests): TableDifference[] {
  if (Object.keys(recorded).length === 0) return [];
  return [...sums].flatMap(([table, sum]) => {
    const [was, is] = [recorded[table] ?? EMPTY, sum.digest()];
    return was === is ? [] : [{ table, text: differenceText(rowsOf(is), rowsOf(was)) }];
  });
}

/** What the tables are read with, and compared with. */
function* othersOf(db: Db, judgeEnd: JudgeEnd | undefined): Work<readonly TableDifference[]> {
  const schema = yield* db.strangeSchema();
  const end = yield* strangeEnd(db, judgeEnd);
  return [...(schema ? [schema] : []), ...(end === undefined ? [] : [{ table: 'audit', text: end }])];
}

function differenceText(is: number, was: number): string {
  const rows = `${is} row${is === 1 ? '' : 's'}`;
  return is === was ? `${rows} as the audit records, with other contents` : `${rows}, and the audit records ${was}`;
}

function rowsOf(digest: string): number {
  return Number(digest.split(':')[0]);
}

export function digestsOf(sums: readonly (readonly [string, RowSum])[]): TableDigests {
  return sorted(sums.map(([table, sum]) => [table, sum.digest()]));
}

export function sorted(digests: readonly (readonly [string, string])[]): TableDigests {
  return Object.fromEntries([...new Map(digests)].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reads all rows, in steps. Tables that an older version does not have are left out. */
export function* sumsOf(db: Db, tables = ACTING_TABLES): Work<Map<string, RowSum>> {
  const sums = new Map<string, RowSum>();
  for (const [table, columns] of yield* followed(db, tables)) {
    const sum = new RowSum();
    const add = (values: unknown[]) => sum.add(rowText(table, values));
    yield* db.each<unknown[]>(`SELECT ${columns.join(', ')} FROM ${table}`, add, true);
    sums.set(table, sum);
  }
  return sums;
}

/** The tables that there are, with their columns by name. */
export function* followed(db: Db, tables = ACTING_TABLES): Work<[table: string, columns: string[]][]> {
  const found = yield* db.columnsOf(tables);
  return found.map(([table, columns]) => [table, columns.filter((column) => !TABLES[table]?.includes(column))]);
}

export function rowText(table: string, values: readonly unknown[]): string {
  return JSON.stringify([table, ...values]);
}
