// store: how a writer on PostgreSQL follows what it changes of the tables that acting rests on, where others write between its units. Triggers
// note each changed row; the sums of the tables are stored, and moved by what a unit changed. In: a unit of work. Out: digests for its audit
// entries. A sum that is not what the audit recorded last, and a row that no unit changed, are differences.

import type { QueryArrayConfig, QueryArrayResult } from 'pg';
import { giveWay } from '../../base/turns.ts';
import { differencesText, type TableDifference, type TableDigests } from '../../domain/audit-entry.ts';
import type { StoreFault, StoreFaultKind } from '../../domain/database.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import {
  ACTING_TABLES,
  type ChangedTables,
  differencesOf,
  digestsOf,
  EMPTY,
  followed,
  RowSum,
  readTables,
  recordedDigests,
  rowText,
  sorted,
  sumsOf,
  UNREADABLE,
} from '../acting-tables.ts';
import type { ChainEnd } from '../audit-log.ts';
import { headOf } from '../audit-rows.ts';
import type { Db, Row, Value, Work } from '../queries.ts';
import { brokenRule, collisionAt, editedFault } from '../store-fault.ts';

/** It sorts where the character 0 does, before all others. A text that has it comes back too. */
const MARK = '\u0001';
const NUL = '\0';
const UNSTORABLE = new RegExp(
  `${MARK}|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
  'g',
);
const STORED = new RegExp(`${MARK}(0|1|d[89a-f][0-9a-f]{2})`, 'g');

export function toStored(text: string): string {
  const marked = text.replace(UNSTORABLE, (one) => `${MARK}${one === MARK ? '1' : one.charCodeAt(0).toString(16)}`);
  return marked.includes(NUL) ? marked.replaceAll(NUL, `${MARK}0`) : marked;
}

export function fromStored(text: string): string {
  return text.includes(MARK) ? text.replace(STORED, (_, name: string) => charOf(name)) : text;
}

function charOf(name: string): string {
  if (name === '0') return NUL;
  return name === '1' ? MARK : String.fromCharCode(Number.parseInt(name, 16));
}

const BESIDE = 'rows that were changed beside the engine';
const OTHER_SUM = 'another sum than the audit records';
const CHANGES_AT_ONCE = 2_000;

interface ChangeRow {
  no: number;
  relation: string;
  is_added: 0 | 1;
  is_own: 0 | 1;
  /** JSON, with texts as they are stored. */
  content: Uint8Array;
}

export class SharedTables implements ChangedTables {
  /** Undefined in a damaged database: what it records cannot be read, and is not to be replaced. */
  private recorded: ReadonlyMap<string, string> | undefined = new Map();
  /** The entry up to which `recorded` is. */
  private upTo: ChainEnd | undefined;
  private differing: readonly TableDifference[] = [];
  private columns: ReadonlyMap<string, readonly string[]> = new Map();
  /** Of the present transaction. */
  private changed = new Map<string, RowSum>();
  isAccepting = false;

  /** Reads all rows, once. Returns the difference that it found, for whoever notes it. */
  *open(db: Db): Work<void> {
    const read = yield* readTables(db);
    this.upTo = yield* headOf(db);
    this.recorded = read && new Map(Object.entries(read.recorded));
    this.differing = read?.differing ?? UNREADABLE;
    this.columns = new Map(yield* followed(db));
  }

  differences(): readonly TableDifference[] {
    return this.differing;
  }

  *differenceOf(db: Db, table: string): Work<TableDifference | undefined> {
    const recorded = yield* this.recordedIn(db);
    const sums = yield* sumsOf(db, [table]);
    return (
      this.differing.find((one) => one.table === table) ?? differencesOf(sums, Object.fromEntries(recorded ?? []))[0]
    );
  }

  *takeChange(db: Db): Work<boolean> {
    let hasChanged = false;
    for (let last = -1; ; ) {
      const rows = yield* db.all<ChangeRow>(CHANGES, last);
      for (const row of rows) hasChanged = (yield* this.note(db, row)) || hasChanged;
      if (rows.length < CHANGES_AT_ONCE) break;
      last = (rows.at(-1) as ChangeRow).no;
      yield;
    }
    if (!hasChanged) return false;
    // INVARIANT: rows that another transaction left stay: they are the trace of a change beside the engine.
    yield* db.run('DELETE FROM row_changes WHERE transaction = pg_current_xact_id()');
    for (const [table, sum] of this.changed) yield* saveSum(db, table, sum);
    return true;
  }

  *toRecord(db: Db): Work<TableDigests> {
    if (this.isAccepting) yield* this.readAnew(db);
    const recorded = yield* this.recordedIn(db);
    const isBegun = recorded === undefined || recorded.size > 0;
    const differing = new Set(this.isAccepting ? [] : this.differing.map(({ table }) => table));
    if (!isBegun)
      for (const table of ACTING_TABLES) if (!this.changed.has(table)) this.changed.set(table, new RowSum());
    return digestsOf([...this.changed].filter(([table]) => !differing.has(table)));
  }

  *all(db: Db): Work<TableDigests | undefined> {
    const recorded = yield* this.recordedIn(db);
    return recorded && sorted([...recorded, ...Object.entries(yield* this.toRecord(db))]);
  }

  accept(): void {
    this.isAccepting = true;
  }

  committed(): void {
    if (this.isAccepting) this.differing = [];
    this.rolledBack();
  }

  rolledBack(): void {
    this.changed = new Map();
    this.isAccepting = false;
  }

  /** What the audit of this state of the database records: others may have written since, and a reading may show what was before. */
  private *recordedIn(db: Db): Work<ReadonlyMap<string, string> | undefined> {
    if (this.recorded === undefined) return undefined;
    const head = yield* headOf(db);
    if (head.seq === this.upTo?.seq && head.hash === this.upTo.hash) return this.recorded;
    const recorded = new Map(Object.entries(yield* recordedDigests(db)));
    if (head.seq > (this.upTo?.seq ?? -1)) [this.recorded, this.upTo] = [recorded, head];
    return recorded;
  }

  /** Returns whether it is a change of this unit. */
  private *note(db: Db, { relation, is_added, is_own, content }: ChangeRow): Work<boolean> {
    if (!is_own) {
      this.differ(db, relation, BESIDE);
      return false;
    }
    const sum = this.changed.get(relation) ?? (yield* this.sumOf(db, relation));
    this.changed.set(relation, sum);
    const row = JSON.parse(Buffer.from(content).toString()) as Record<string, unknown>;
    const values = (this.columns.get(relation) ?? []).map((column) => asWritten(row[column]));
    if (is_added) sum.add(rowText(relation, values));
    else sum.remove(rowText(relation, values));
    return true;
  }

  private *sumOf(db: Db, relation: string): Work<RowSum> {
    const sql = 'SELECT count, lanes FROM row_sums WHERE relation = ?';
    const row = yield* db.get<{ count: number; lanes: Uint8Array }>(sql, relation);
    const sum = row ? RowSum.of(row.count, row.lanes) : new RowSum();
    const recorded = yield* this.recordedIn(db);
    if (recorded && sum.digest() !== (recorded.get(relation) ?? EMPTY)) this.differ(db, relation, OTHER_SUM);
    return sum;
  }

  private *readAnew(db: Db): Work<void> {
    yield* db.run('DELETE FROM row_changes');
    const accepted = new Set(this.differing.map(({ table }) => table));
    for (const [table, sum] of yield* sumsOf(db)) {
      if (accepted.has(table)) this.changed.set(table, sum);
      yield* saveSum(db, table, sum);
    }
  }

  private differ(db: Db, table: string, text: string): void {
    if (this.differing.some((one) => one.table === table)) return;
    this.differing = [...this.differing, { table, text }];
    db.noteFault(editedFault(differencesText(this.differing)));
  }
}

const CHANGES = `SELECT no, relation, is_added, transaction = pg_current_xact_id() AS is_own, convert_to(content, 'UTF8') AS content FROM row_changes
  WHERE no > ? ORDER BY no LIMIT ${CHANGES_AT_ONCE}`;

/** The sums of all rows as they are, in place of what triggers noted of them: of rows that came with a move. */
export function* sumRows(db: Db): Work<void> {
  yield* db.run('DELETE FROM row_changes');
  for (const [table, sum] of yield* sumsOf(db)) yield* saveSum(db, table, sum);
}

function* saveSum(db: Db, relation: string, sum: RowSum): Work<void> {
  yield* db.upsert('row_sums', { relation, count: sum.count, lanes: sum.bytes() }, 'relation');
}

/** A text within a row as JSON is as PostgreSQL stores it. */
function asWritten(value: unknown): unknown {
  return typeof value === 'string' ? fromStored(value) : value;
}

// Explains a failure of PostgreSQL or of the way to it.

type Kind = Extract<StoreFaultKind, 'busy' | 'full' | 'read_only' | 'corrupt' | 'io' | 'gone' | 'slow' | 'crowded'>;

const TEXTS: Readonly<Record<Kind, string>> = {
  busy: 'another session holds what this one needs: it is tried again with the next run',
  full: 'its disk is full: make room, nothing was called without a record',
  read_only: 'it is read-only, as a standby is: let TRUSTWARD_DB name the primary, or promote this server',
  corrupt: 'its files are damaged: restore a backup',
  io: 'its disk does not answer as it should: check the disk of the server',
  gone: 'it does not answer, or ended the session: check the server, and whether another one was promoted',
  slow: 'it answered too late: check the load of the server, and sessions that hold locks',
  crowded: 'it has no connection or memory left: raise `max_connections`, or run fewer processes',
};

/** By SQLSTATE, or by the code of the socket. */
const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^(40001|40P01|55P03)$/, 'busy'],
  [/^53100$/, 'full'],
  [/^(25006)$/, 'read_only'],
  [/^(XX001|XX002)$/, 'corrupt'],
  [/^(58030|58P01)$/, 'io'],
  [/^(53200|53300|53400)$/, 'crowded'],
  [/^(57014|25P03|25P04|ETIMEDOUT)$/, 'slow'],
  [/^(08...|57P0[1-5])$/, 'gone'],
  [/^(ECONN[A-Z]+|EPIPE|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EADDRNOTAVAIL)$/, 'gone'],
];

/** pg's own errors have no code. */
const MESSAGES: readonly (readonly [RegExp, Kind])[] = [
  [/timeout expired|timeout exceeded|heartbeat timed out|due to connection timeout|Query read timeout/i, 'slow'],
  [/Connection terminated|Client has encountered a connection error|Client was closed|not queryable/i, 'gone'],
];

const LOGIN = 'it refuses the login: check the role in TRUSTWARD_DB, its password, and pg_hba.conf';
const UNTRUSTED =
  'no encrypted connection was made: check `sslmode` and `sslrootcert` in TRUSTWARD_DB, and the certificate of the server';

/** Of connecting, by pg's own errors. */
const TEXTS_OF_CONNECTING: readonly (readonly [RegExp, string])[] = [
  [/^SASL: /, LOGIN],
  [/does not support SSL|error establishing an SSL/i, UNTRUSTED],
];

const CODES: Partial<Record<Kind, ErrorCode>> = { busy: 'store_locked', corrupt: 'store_damaged' };

const NO_TABLES = 'it has no tables of this version yet: `trustward run` or a worker makes them';
/** A session begins as this role, which the first run on a server makes. */
const NO_ROLE = /^role "trustward_work" does not exist$/;

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, LOGIN],
  [/CERT|TLS|SSL|SIGNATURE|^EPROTO$/, UNTRUSTED],
  [/^42P06$/, 'it has a schema `trustward` of something else: give Trustward a database of its own'],
  [/^3D000$/, 'there is no such database: an administrator runs `CREATE DATABASE`'],
  [
    /^(42501)$/,
    'the role may not do this: let all processes log in as the role that made the tables, and grant it `trustward_work`',
  ],
  [/^(42P01|3F000)$/, NO_TABLES],
  [/^54000$/, 'a name or an id is too long to be found by an index: more than 2,600 bytes'],
];

/**
 * Any other error than one of PostgreSQL, of pg or of a socket is returned unchanged. `place`: host, port and database, without user and
 * password. `sql`: the statement that failed.
 */
export function postgresError(error: unknown, place: string, sql = ''): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  const kind = kindOf(code, error.message);
  const ofConnecting = code === '' ? adviceIn(TEXTS_OF_CONNECTING, error.message) : undefined;
  if (code === '' && (kind ?? ofConnecting) === undefined) return error;
  const known = collision(error);
  if (known) return known;
  if (NO_ROLE.test(error.message) || adviceOf(code) === NO_TABLES)
    return new AppError('not_found', `database \`${place}\`: ${NO_TABLES}`, { cause: error });
  const advice = kind ? TEXTS[kind] : (ofConnecting ?? adviceOf(code) ?? refused(error, code, sql));
  const named = code === '' ? '' : ` (${code})`;
  return new AppError((kind && CODES[kind]) ?? 'store_failed', `database \`${place}\`${named}: ${advice}`, {
    cause: error,
    detail: kind,
  });
}

/** The fault of the server that an error shows; undefined when it is about something else. */
export function serverFaultOf(error: unknown): Pick<StoreFault, 'kind' | 'text'> | undefined {
  if (!(error instanceof AppError) || !error.code.startsWith('store_')) return undefined;
  const kind = error.detail as StoreFaultKind | undefined;
  if (kind === undefined) return undefined;
  return { kind, text: Object.hasOwn(TEXTS, kind) ? TEXTS[kind as Kind] : error.message };
}

/** Whether nothing of a transaction that ended so can have been committed later than known: an answer came. */
export function isAnswered(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && !/^(08...|57P0[1-5])$/.test(codeOf(error));
}

/** `host:port/name`, for texts. Errors: AppError `config` for a text that is no such address, without the text. */
export function placeOf(url: string): string {
  const wrong = 'TRUSTWARD_DB is no address of PostgreSQL: write `postgres://ROLE:PASSWORD@HOST:PORT/DATABASE`';
  if (!URL.canParse(url)) throw new AppError('config', wrong);
  const { protocol, host, pathname, searchParams } = new URL(url);
  if (!/^postgres(ql)?:$/.test(protocol)) throw new AppError('config', wrong);
  return `${host || searchParams.get('host') || 'local'}${pathname}`;
}

interface DatabaseError extends Error {
  code?: string;
  constraint?: string;
}

function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  if (code !== undefined) return String(code);
  // A host with several addresses: the last failure is as good as any.
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors.at(-1)) : '';
}

function kindOf(code: string, message: string): Kind | undefined {
  return (
    KINDS.find(([pattern]) => pattern.test(code))?.[1] ??
    (code === '' ? MESSAGES.find(([pattern]) => pattern.test(message))?.[1] : undefined)
  );
}

function adviceOf(code: string): string | undefined {
  return adviceIn(ADVICE, code);
}

function adviceIn(advice: typeof ADVICE, text: string): string | undefined {
  return advice.find(([pattern]) => pattern.test(text))?.[1];
}

/** The place of a row that is there already. */
const UNIQUE = '23505';
/** What the triggers of append-only tables raise. */
const REFUSED_BY_TRIGGER = '23001';

function collision(error: DatabaseError): AppError | undefined {
  return error.code === UNIQUE && error.constraint !== undefined ? collisionAt(error.constraint, error) : undefined;
}

function refused(error: DatabaseError, code: string, sql: string): string {
  return code.startsWith('23') ? brokenRule(error, code === REFUSED_BY_TRIGGER, sql) : error.message;
}

// Statements and values as PostgreSQL takes them, and rows as programs take them.

export type Found = QueryArrayResult<Value[]>;
type Statement = QueryArrayConfig<unknown[]>;

interface Prepared {
  name: string | undefined;
  text: string;
}

/** A statement with a number in its text is another one each time: what came after so many is not kept on the server. */
const NAMED_MAX = 1_000;
const prepared = new Map<string, Prepared>();
let named = 0;

function statementOf(sql: string, values: readonly Value[]): Statement {
  const { name, text } = preparedOf(sql);
  return { ...(name !== undefined && { name }), text, values: values.map(storedValue), rowMode: 'array', types: TYPES };
}

/** All columns: a neighbouring version may add one while this one works, and PostgreSQL then refuses what was prepared before. */
const STAR = /(?:\bSELECT|\bRETURNING|,)\s+(?:DISTINCT\s+)?(?:\w+\.)?\*/i;

function preparedOf(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known) return known;
  const isNamed = named < NAMED_MAX && !/^(?:DECLARE|FETCH|CLOSE)/.test(sql) && !STAR.test(sql);
  if (isNamed) named += 1;
  const made = { name: isNamed ? `trustward_${named}` : undefined, text: numbered(sql) };
  if (isNamed) prepared.set(sql, made);
  return made;
}

/** `?` outside of quotes and comments. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\?/g, (part) => {
    if (part !== '?') return part;
    count += 1;
    return `$${count}`;
  });
}

function storedValue(value: Value): unknown {
  if (typeof value === 'string') return toStored(value);
  if (typeof value === 'bigint') return value.toString();
  return value;
}

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 1700]);

/** Integers are numbers (none of ours is beyond 2^53), and what is true is 1, as in SQLite. */
const TYPES = {
  getTypeParser: (oid: number) => {
    if (oid === BOOL) return (text: string) => (text === 't' ? 1 : 0);
    if (INTEGERS.has(oid)) return Number;
    if (oid === BYTEA) return (text: string) => Buffer.from(text.slice(2), 'hex');
    return fromStored;
  },
} as unknown as QueryArrayConfig['types'];

export function rowsOf<T>({ fields, rows }: Found): T[] {
  const names = fields.map(({ name }) => name);
  const org = names.indexOf('org');
  return rows.map((values) => {
    const row: Row = {};
    for (const [at, name] of names.entries()) if (at !== org) row[name] = values[at] as Value;
    return row as T;
  });
}

// Takes the steps of a program on one connection of PostgreSQL.

/** The part of a connection that programs need. */
export interface Session {
  query(statement: Statement): Promise<Found>;
}

/** `beforeStep`: fails to end the program between two steps. */
export async function drive<T>(
  session: Session,
  place: string,
  work: Work<T>,
  beforeStep?: () => Promise<void> | undefined,
): Promise<T> {
  let step = work.next();
  while (!step.done) {
    const waits = beforeStep?.();
    if (waits) await waits;
    if (step.value === undefined) {
      await giveWay();
      step = work.next();
      continue;
    }
    const { sql, values } = step.value;
    let found: Found;
    try {
      found = await session.query(statementOf(sql, values));
    } catch (error) {
      step = work.throw(postgresError(error, place, sql));
      continue;
    }
    step = work.next(found);
  }
  return step.value;
}
