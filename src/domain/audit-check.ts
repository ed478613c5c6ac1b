// domain: the result of verifying the audit, the same for a database and for an export.
import type { TableDifference } from './acting-tables.ts';

export interface AuditCheck {
  ok: boolean;
  /** The first entry present: 1, or the one after the archived ones. */
  first: number;
  /** Entries verified before the first bad one. */
  entries: number;
  /** The hash of the last of them. */
  head: string;
  /** Checkpoints that they were compared with. */
  checkpoints: number;
  /** The last entry that a signed checkpoint covers; 0: none. */
  sealed: number;
  /** The first thing that is wrong. */
  bad: AuditFault | undefined;
  /** Tables that differ from what the record says of them; empty for an export, which has none. */
  tables: readonly TableDifference[];
  /** What a reader should know although nothing is wrong, one line each. */
  notes: string[];
}

export interface AuditFault {
  /** The first bad entry, or the first that may be bad when `checkpoint` is the evidence. */
  seq: number;
  /** How many entries are covered by the checkpoint that is bad, or that proves it. */
  checkpoint?: number;
  /** In words that follow "entry N" or "the checkpoint over N entries". */
  reason: string;
}
