// store: how a writer on PostgreSQL follows what it changes of the tables that acting rests on, where others write between its units. Triggers
// note each changed row; the sums of the tables are stored, and moved by what a unit changed. In: a unit of work. Out: digests for its audit
// entries. A sum that is not what the audit recorded last, and a row that no unit changed, are differences.
import { differencesText, type TableDifference, type TableDigests } from '../../domain/acting-tables.ts';
import {
  ACTING_TABLES,
  type ChangedTables,
  differencesOf,
  digestsOf,
  EMPTY,
  followed,
  readTables,
  rowText,
  sorted,
  sumsOf,
  UNREADABLE,
} from '../acting-tables.ts';
import type { ChainEnd } from '../audit-log.ts';
import { headOf } from '../audit-rows.ts';
import type { Db, Work } from '../queries.ts';
import { recordedDigests } from '../recorded-digests.ts';
import { RowSum } from '../row-sum.ts';
import { editedFault } from '../store-fault.ts';
import { fromStored } from './text.ts';

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
