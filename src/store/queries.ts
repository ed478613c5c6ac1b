// store: what the statements of the store are written against. In: SQL and values. Out: programs in steps, which a driver takes: SQLite's
// answers each query at once, so that a program is done in one turn; PostgreSQL's waits for each. So every statement is written once.

import { giveWay } from '../base/turns.ts';
import type { TableDifference } from '../domain/audit-entry.ts';
import { OPEN_CLAIM_STATUSES } from '../domain/episode.ts';
import { AppError } from '../domain/errors.ts';
import type { Lists } from '../domain/lists.ts';
import { isOfLook } from '../domain/run.ts';
import type { DiskUse, RunRecord } from '../domain/store.ts';

// What the two databases say differently, by name.

export interface Dialect {
  /** After a table: the index that serves the statement, where the database would take a worse one. */
  by(index: string): string;
  /** After a table: no index is believed. */
  readonly unindexed: string;
  /** The target of a conflict: the columns of a key. */
  conflict(columns: string): string;
  /** How many intents a plan has, and the rule whose claims they release: without reading them, which may be megabytes. */
  readonly planned: string;
  readonly releases: string;
  /** The target and the person that an entry of the audit is about. */
  readonly auditTarget: string;
  readonly auditActor: string;
  /** For a table that acting rests on and no trigger follows: notes the rows with this key, before or after a change. */
  noteChange?(table: string, is: 'removed' | 'added', key: string): string;
}

const member = (name: string) => `json_extract(bytes, '$.body.${name}')`;

/** INVARIANT: the expressions are those of migrations 0016 and 0028: their indexes have the values. */
export const SQLITE: Dialect = {
  by: (index) => `INDEXED BY ${index}`,
  unindexed: 'NOT INDEXED',
  conflict: (columns) => `ON CONFLICT (${columns})`,
  planned: 'CASE WHEN json_valid(intents) THEN json_array_length(intents) END',
  releases:
    "CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END",
  auditTarget: `CASE WHEN json_valid(bytes) THEN ${member('target')} END`,
  auditActor: `CASE WHEN json_valid(bytes)
  THEN substr(${member('by')}, 1, instr(${member('by')} || ' (', ' (') - 1) END`,
};

export type Value = string | number | bigint | Uint8Array | null;
export type Row = { [column: string]: Value };

/** What a program waits for: a query of its database, or nothing: others may go first. */
type Step = { sql: string; values: readonly Value[] } | undefined;

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

/** What follows `status` where claims in force are meant. */
export const OPEN = `IN (${OPEN_CLAIM_STATUSES.map((status) => `'${status}'`).join(', ')})`;
/** Of an intent: under way, or in doubt, or waiting for a person. */
export const UNRESOLVED = "status IN ('planned', 'sent') OR outcome IN ('unknown', 'parked')";

// Finds a row by its id or an unambiguous beginning of it, as typed by a person.

const NAMED_MAX = 5;

/** By table: the name of its rows, and the columns that distinguish them. */
const TABLES = {
  runs: { noun: 'run', describe: ({ seq }: Row) => `number ${seq}` },
  plans: { noun: 'plan', describe: ({ run_id }: Row) => `of run ${run_id}` },
  intents: {
    noun: 'intent',
    describe: ({ action, target, status, outcome }: Row) => `${action} ${target}, ${outcome ?? status}`,
  },
  exemptions: {
    noun: 'exemption',
    describe: ({ subject_id, selector_field, selector_value }: Row) =>
      subject_id === null ? `${selector_field} = ${selector_value}` : String(subject_id),
  },
  exemption_requests: { noun: 'request', describe: ({ person, device }: Row) => `${person}, device ${device}` },
} as const;

/** Errors: AppError `usage` for a beginning that several ids have, with those ids. An empty text finds nothing. */
export function* rowByPrefix(db: Db, table: keyof typeof TABLES, idOrPrefix: string): Work<Row | undefined> {
  const exact = yield* db.get(`SELECT * FROM ${table} WHERE id = ?`, idOrPrefix);
  if (exact || idOrPrefix === '') return exact;
  const end = `${idOrPrefix}\u{10ffff}`; // no id has this character: all ids with this beginning come before it
  const sql = `SELECT * FROM ${table} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`;
  const rows = yield* db.all(sql, idOrPrefix, end, NAMED_MAX + 1);
  if (rows.length <= 1) return rows[0];
  const { noun, describe } = TABLES[table];
  const named = rows.slice(0, NAMED_MAX).map((row) => `${row.id} (${describe(row)})`);
  const more = rows.length > NAMED_MAX ? ' and more' : '';
  const text = `${noun} \`${idOrPrefix}\` is ambiguous: it begins ${named.join(', ')}${more}; give more of its id`;
  throw new AppError('usage', text);
}

/** Errors: AppError `usage` when it is gone, or never was. */
export function* demandRow(db: Db, table: string, id: string | undefined): Work<void> {
  if (id === undefined || (yield* db.get(`SELECT id FROM ${table} WHERE id = ?`, id))) return;
  throw new AppError('usage', `the list has no \`${id}\` to continue from: read it again from its beginning`);
}

interface InForce {
  /** A SELECT in brackets. */
  sql: string;
  values: (string | number)[];
}

/** `rule`: only of this one. */
export function inForceIn({ by }: Dialect, run: RunRecord, columns: string, rule?: string): InForce {
  const judged = judgedRulesOf(run).filter((one) => rule === undefined || one === rule);
  // A run of a look is about a few subjects: what earlier runs decided about all others is not its own.
  const own = isOfLook(run) ? `AND run_seq >= ${run.seq}` : '';
  const rest = `rule IN (SELECT value FROM json_each(?)) AND run_seq <= ? ${own}`;
  const open = `SELECT ${columns} FROM decisions ${by('decisions_standing')} WHERE ended_seq IS NULL AND ${rest}`;
  const ended = `SELECT ${columns} FROM decisions ${by('decisions_ended')} WHERE ended_seq > ? AND ${rest}`;
  const values = [JSON.stringify(judged), run.seq];
  return { sql: `(${open} UNION ALL ${ended}) AS in_force`, values: [...values, run.seq, ...values] };
}

/** Rules whose decisions a run's report shows: those that it judged or, if it broke off, was asked to judge. */
function judgedRulesOf(run: RunRecord): string[] {
  return run.findings ? run.findings.tallies.filter((tally) => tally.judged).map((tally) => tally.rule) : [];
}

const ROWS_MAX = 200;
const BYTES_MAX = 1_048_576;

export async function readInTurns<T>(
  found: readonly { id: string; bytes?: number }[],
  read: (ids: readonly string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let at = 0; at < found.length; ) {
    const ids: string[] = [];
    for (let bytes = 0; at < found.length && ids.length < ROWS_MAX && bytes < BYTES_MAX; at += 1) {
      const { id, bytes: size = 0 } = found[at] as { id: string; bytes?: number };
      ids.push(id);
      bytes += size;
    }
    for (const row of await read(ids)) rows.push(row);
    if (at < found.length) await giveWay();
  }
  return rows;
}

/** What the database knows of itself, by key. */
export function* readMeta(db: Db, key: string): Work<string | undefined> {
  return (yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', key))?.value;
}

export function* keepMeta(db: Db, key: string, value: string): Work<void> {
  yield* db.upsert('meta', { key, value }, 'key');
}

/** Keeps `lists`; returns what it replaces, undefined when nothing has changed. */
export function* replaceLists(db: Db, lists: Lists): Work<string | undefined> {
  const before = (yield* readMeta(db, 'lists')) ?? 'v1';
  if (before === lists) return undefined;
  yield* keepMeta(db, 'lists', lists);
  return before;
}

/** Each is one prepared statement. */
export const ROWS_OF_INSERT = [20, 5, 1];
const insertions = new Map<string, string>();

export function insertion(table: string, columns: readonly string[], rows: number, conflict: string): string {
  const key = `${table} ${rows} ${columns} ${conflict}`;
  const known = insertions.get(key);
  if (known !== undefined) return known;
  const row = `(${columns.map(() => '?').join(', ')})`;
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(rows).fill(row).join(', ')} ${conflict}`;
  insertions.set(key, sql);
  return sql;
}

/** The WHERE of a statement, built from the filters that are given. */
export class Where {
  private readonly parts: string[] = [];
  readonly values: (string | number)[] = [];

  /** Adds nothing without a value. */
  add(condition: string, value: string | number | undefined, ...more: (string | number)[]): void {
    if (value === undefined) return;
    this.parts.push(condition);
    this.values.push(value, ...more);
  }

  get text(): string {
    return this.parts.length === 0 ? '' : `WHERE ${this.parts.join(' AND ')}`;
  }
}
