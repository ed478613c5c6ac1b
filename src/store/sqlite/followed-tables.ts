// store: how SQLite's one writer follows what it changes of the tables that acting rests on. Triggers of the writer's own connection see every
// change of a row, so a row that another connection changed differs from what the audit records. In: a connection. Out: digests for audit
// entries and checkpoints.

import { drained } from '../../base/turns.ts';
import type { TableDifference, TableDigests } from '../../domain/audit-entry.ts';
import {
  ACTING_TABLES,
  type ChangedTables,
  differencesOf,
  digestsOf,
  followed,
  RowSum,
  readTables,
  rowText,
  sorted,
  sumsOf,
  UNREADABLE,
} from '../acting-tables.ts';
import type { Db, Work } from '../queries.ts';
import { type SqliteDb, SqliteWork } from './database.ts';

/** INVARIANT: nobody else writes while it lives. */
export class FollowedTables implements ChangedTables {
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
  constructor(db: SqliteDb, migrated?: readonly TableDifference[]) {
    const read = drained(readTables(new SqliteWork(db)));
    this.sums = read?.sums ?? new Map(ACTING_TABLES.map((table) => [table, new RowSum()]));
    this.recorded = read && new Map(Object.entries(read.recorded));
    this.differing = migrated ?? read?.differing ?? UNREADABLE;
    const isBegun = this.recorded === undefined || this.recorded.size > 0;
    this.due = new Set(migrated || !isBegun ? this.sums.keys() : []);
    this.follow(db);
  }

  /** What another connection of the same writer changes counts too. */
  follow(db: SqliteDb): void {
    follow(db, (table, row, isAdded) => this.note(table, row, isAdded));
  }

  differences(): readonly TableDifference[] {
    return this.differing;
  }

  *differenceOf(db: Db, table: string): Work<TableDifference | undefined> {
    const sums = yield* sumsOf(db, [table]);
    const recorded = Object.fromEntries(this.recorded ?? []);
    return this.differing.find((one) => one.table === table) ?? differencesOf(sums, recorded)[0];
  }

  *takeChange(): Work<boolean> {
    const { hasChanged } = this;
    this.hasChanged = false;
    return hasChanged;
  }

  *toRecord(): Work<TableDigests> {
    const differing = new Set(this.isAccepting ? [] : this.differing.map(({ table }) => table));
    const accepted = this.isAccepting ? this.differing.map(({ table }) => table) : [];
    const tables = new Set([...this.due, ...this.changed.keys(), ...accepted]);
    return digestsOf([...tables].filter((table) => !differing.has(table)).map((table) => [table, this.sumOf(table)]));
  }

  *all(): Work<TableDigests | undefined> {
    return this.recorded && sorted([...this.recorded, ...Object.entries(yield* this.toRecord())]);
  }

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

type Changed = (table: string, row: string, isAdded: boolean) => void;

const FUNCTION = 'trustward_row_changed';
/** By connection: to define the function anew would prepare every statement anew. */
const followers = new WeakMap<SqliteDb, { changed: Changed }>();

/**
 * INVARIANT: triggers of the connection alone (TEMP): the database itself is not changed, and no other connection runs them.
 * A later follower of the same connection replaces the earlier one.
 */
function follow(db: SqliteDb, changed: Changed): void {
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
  db.exec(
    drained(followed(new SqliteWork(db)))
      .map(triggersOf)
      .join('\n'),
  );
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
