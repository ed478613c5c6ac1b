// store: how a store writes: units of work, each one transaction with its audit entries inside. In: programs. Out: each committed, or nothing
// of it. What the databases do differently is here: who waits for whom, and which connection it is.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { ChangedTables } from './acting-tables.ts';
import type { AuditLog } from './audit-log.ts';
import type { Db, Work } from './queries.ts';

/** How often a large unit is taken back; after that the others wait for it. */
export const TAKEN_BACK_MAX = 20;

export interface Writer {
  readonly db: Db;
  /** INVARIANT: appended to, flushed and sealed only inside a unit of work. */
  readonly audits: AuditLog;
  readonly tables: ChangedTables;
  /** One unit of work: the change and its audit entries. */
  unit<T>(work: () => Work<T>): Promise<T>;
  /** The same, which no large one keeps waiting. */
  unitAtOnce<T>(work: () => Work<T>): Promise<T>;
  /** A unit that may be large: others get their turn while it is written. INVARIANT: it is one transaction. */
  unitInTurns(work: (db: Db) => Work<void>, notes: readonly AuditNote[], isLarge: boolean): Promise<void>;
  /** A unit that shares its transaction with others that are due, and has an error of its own. */
  grouped(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void>;
  close(): Promise<void>;
}
