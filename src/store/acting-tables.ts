// store: the tables that acting rests on, and their digests. Triggers of the writer's own connection follow every change of a row, so
// a row that another connection changed differs from what the audit records. In: a connection. Out: digests for audit entries and
// checkpoints, and the tables that differ from the record. It never repairs.
import type { JudgeEnd, TableDifference, TableDigests } from '../domain/acting-tables.ts';
import { AppError } from '../domain/errors.ts';
import { drained } from '../domain/give-way.ts';
import type { Db } from './database.ts';
import { recordedDigests, strangeEnd } from './recorded-digests.ts';
import { RowSum } from './row-sum.ts';
import { strangeSchema } from './schema.ts';
import { storedJson } from './stored-json.ts';

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
  exemptions: [],
  intent_episodes: [],
  intents: [],
  planned_intents: [],
  plans: [],
  rejected_intents: [],
  stop_switch: [],
};

export const ACTING_TABLES: readonly string[] = Object.keys(TABLES);

const EMPTY = new RowSum().digest();

/** The digests of one writer. INVARIANT: nobody else writes while it lives, and it is told how every transaction ended. */
export class ActingTables {
  private readonly sums: Map<string, RowSum>;
  /** Undefined in a damaged database: what it records cannot be read, and is not to be replaced. */
  private readonly recorded: Map<string, string> | undefined;
  /** Tables that no entry has recorded yet: all of a new database, or after an upgrade. */
  private readonly due: Set<string>;
  private differing: readonly TableDifference[];
  /** Of the present transaction. */
  private changed = new Map<string, RowSum>();
  private hasChanged = false;
  isAccepting = false;

  /** `migrated`: the tables have just got another form; these of them differed before. */
  constructor(
    private readonly db: Db,
    migrated?: readonly TableDifference[],
  ) {
    const read = readTables(db);
    this.sums = read?.sums ?? new Map(Object.keys(TABLES).map((table) => [table, new RowSum()]));
    this.recorded = read && new Map(Object.entries(read.recorded));
    this.differing = migrated ?? read?.differing ?? UNREADABLE;
    const isBegun = this.recorded === undefined || this.recorded.size > 0;
    this.due = new Set(migrated || !isBegun ? this.sums.keys() : []);
    this.follow(db);
  }

  /** What another connection of the same writer changes counts too. */
  follow(db: Db): void {
    follow(db, (table, row, isAdded) => this.note(table, row, isAdded));
  }

  /** Tables whose rows were not those of the record at the start. */
  differences(): readonly TableDifference[] {
    return this.differing;
  }

  /** Reads one table again, for what is obeyed without a call: only small tables. */
  differenceOf(table: string): TableDifference | undefined {
    const sums = drained(sumsOf(this.db, [table]));
    const recorded = Object.fromEntries(this.recorded ?? []);
    return this.differing.find((one) => one.table === table) ?? differencesOf(sums, recorded)[0];
  }

  /** Whether a row changed since this was asked last. */
  takeChange(): boolean {
    const { hasChanged } = this;
    this.hasChanged = false;
    return hasChanged;
  }

  /**
   * What the last entry of this transaction records. A table that differs is not in it: the difference stays until a person
   * accepts it.
   */
  toRecord(): TableDigests {
    const differing = new Set(this.isAccepting ? [] : this.differing.map(({ table }) => table));
    const accepted = this.isAccepting ? this.differing.map(({ table }) => table) : [];
    const tables = new Set([...this.due, ...this.changed.keys(), ...accepted]);
    return digestsOf([...tables].filter((table) => !differing.has(table)).map((table) => [table, this.sumOf(table)]));
  }

  /** What a checkpoint records: every table. Undefined: the record cannot be read, so nothing can be sealed. */
  all(): TableDigests | undefined {
    return this.recorded && sorted([...this.recorded, ...Object.entries(this.toRecord())]);
  }

  /** A person accepts the rows as they are: this transaction records them. */
  accept(): void {
    this.isAccepting = true;
  }

  committed(recorded: TableDigests): void {
    for (const [table, digest] of Object.entries(recorded)) {
      this.recorded?.set(table, digest);
      this.due.delete(table);
    }
    for (const [table, sum] of this.changed) this.sums.set(table, sum);
    if (this.isAccepting) this.differing = [];
    this.rolledBack();
  }

  rolledBack(): void {
    this.changed = new Map();
    this.hasChanged = false;
    this.isAccepting = false;
  }

  private sumOf(table: string): RowSum {
    return this.changed.get(table) ?? (this.sums.get(table) as RowSum);
  }

  private note(table: string, row: string, isAdded: boolean): void {
    const sum = this.changed.get(table) ?? (this.sums.get(table) as RowSum).copy();
    this.changed.set(table, sum);
    this.hasChanged = true;
    if (isAdded) sum.add(row);
    else sum.remove(row);
  }
}

interface ReadTables {
  sums: Map<string, RowSum>;
  recorded: TableDigests;
  differing: TableDifference[];
}

const UNREADABLE = Object.keys(TABLES).map((table) => ({ table, text: 'rows that cannot be read' }));

/** Undefined when the database is damaged there: its connection has noted the fault. */
function readTables(db: Db): ReadTables | undefined {
  try {
    const recorded = recordedDigests(db);
    const sums = drained(sumsOf(db));
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
  if (db.file === ':memory:') return [...othersOf(db, judgeEnd), ...differencesNow(db)];
  return db.elsewhere(async (snapshot, giveWay) => {
    const recorded = recordedDigests(snapshot);
    const others = othersOf(snapshot, judgeEnd);
    const walk = sumsOf(snapshot);
    for (let step = walk.next(); ; step = walk.next()) {
      if (step.done) return [...others, ...differencesOf(step.value, recorded)];
      await giveWay();
    }
  });
}

/** The same at once, without giving way. */
export function differencesNow(db: Db): readonly TableDifference[] {
  return readTables(db)?.differing ?? UNREADABLE;
}

/** Nothing differs where nothing is recorded: the database is new, or an older version wrote it. */
function differencesOf(sums: ReadonlyMap<string, RowSum>, recorded: TableDigests): TableDifference[] {
  if (Object.keys(recorded).length === 0) return [];
  return [...sums].flatMap(([table, sum]) => {
    const [was, is] = [recorded[table] ?? EMPTY, sum.digest()];
    return was === is ? [] : [{ table, text: differenceText(rowsOf(is), rowsOf(was)) }];
  });
}

/** What the tables are read with, and compared with. */
function othersOf(db: Db, judgeEnd: JudgeEnd | undefined): readonly TableDifference[] {
  const found = { sqlite_schema: strangeSchema(db), audit: strangeEnd(db, judgeEnd) };
  return Object.entries(found).flatMap(([table, text]) => (text === undefined ? [] : [{ table, text }]));
}

function differenceText(is: number, was: number): string {
  const rows = `${is} row${is === 1 ? '' : 's'}`;
  return is === was ? `${rows} as the audit records, with other contents` : `${rows}, and the audit records ${was}`;
}

function rowsOf(digest: string): number {
  return Number(digest.split(':')[0]);
}

function digestsOf(sums: readonly (readonly [string, RowSum])[]): TableDigests {
  return sorted(sums.map(([table, sum]) => [table, sum.digest()]));
}

function sorted(digests: readonly (readonly [string, string])[]): TableDigests {
  return Object.fromEntries([...new Map(digests)].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const ROWS_AT_ONCE = 500;

/** Reads all rows; yields now and then. Tables that an older version does not have are left out. */
function* sumsOf(db: Db, tables = Object.keys(TABLES)): Generator<void, Map<string, RowSum>> {
  const sums = new Map<string, RowSum>();
  for (const [table, columns] of followed(db, tables)) {
    const sum = new RowSum();
    let rows = 0;
    for (const values of db.rows(`SELECT ${columns.join(', ')} FROM ${table}`)) {
      sum.add(rowText(table, values));
      rows += 1;
      if (rows % ROWS_AT_ONCE === 0) yield;
    }
    sums.set(table, sum);
  }
  return sums;
}

/** The tables that there are, with their columns by name. */
function followed(db: Db, tables: readonly string[]): [table: string, columns: string[]][] {
  const sql = `SELECT json_each.value AS name, json_group_array(pragma_table_info.name) AS columns
    FROM json_each(?), pragma_table_info(json_each.value) GROUP BY 1 ORDER BY 1`;
  return db.all<{ name: string; columns: string }>(sql, JSON.stringify(tables)).map(({ name, columns }) => {
    const all = storedJson<string[]>(columns).sort();
    return [name, all.filter((column) => !TABLES[name]?.includes(column))];
  });
}

function rowText(table: string, values: readonly unknown[]): string {
  return JSON.stringify([table, ...values]);
}

type Changed = (table: string, row: string, isAdded: boolean) => void;

const FUNCTION = 'trustward_row_changed';
/** By connection: to define the function anew would prepare every statement anew. */
const followers = new WeakMap<Db, { changed: Changed }>();

/**
 * INVARIANT: triggers of the connection alone (TEMP): the database itself is not changed, and no other connection runs them.
 * A later follower of the same connection replaces the earlier one.
 */
function follow(db: Db, changed: Changed): void {
  const known = followers.get(db);
  const follower = known ?? { changed };
  follower.changed = changed;
  if (!known) {
    followers.set(db, follower);
    db.define(FUNCTION, (table, isAdded, ...values) => {
      follower.changed(table as string, rowText(table as string, values), isAdded === 1);
      return null;
    });
  }
  if (db.get("SELECT 1 FROM sqlite_temp_master WHERE name LIKE 'follow_%'")) return;
  db.exec(followed(db, Object.keys(TABLES)).map(triggersOf).join('\n'));
}

function triggersOf([table, columns]: [table: string, columns: string[]]): string {
  const call = (row: 'NEW' | 'OLD') =>
    `SELECT ${FUNCTION}('${table}', ${row === 'NEW' ? 1 : 0}, ${columns.map((name) => `${row}.${name}`).join(', ')});`;
  const trigger = (name: string, event: string, calls: string) =>
    `CREATE TEMP TRIGGER follow_${name}_${table} AFTER ${event} ON main.${table} BEGIN ${calls} END;`;
  return [
    trigger('insert', 'INSERT', call('NEW')),
    trigger('delete', 'DELETE', call('OLD')),
    trigger('update', `UPDATE OF ${columns.join(', ')}`, `${call('OLD')} ${call('NEW')}`),
  ].join('\n');
}
