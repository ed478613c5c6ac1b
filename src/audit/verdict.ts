// audit: what verification answers, the same for a database and for an export.
import type { CheckpointFault } from './checkpoint.ts';

export interface AuditCheck {
  ok: boolean;
  /** The first entry that is there: 1, or the one after the archived ones. */
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
  /** What a reader should know although nothing is wrong, a line each. */
  notes: string[];
}

export interface AuditFault {
  /** The first entry that is bad, or the first that may be when `checkpoint` is what tells. */
  seq: number;
  /** How many entries the checkpoint is over that is bad, or that shows it. */
  checkpoint?: number;
  /** In words that follow "entry N" or "the checkpoint over N entries". */
  reason: string;
}

/** A bad checkpoint among the others that may be wrong. One that cannot be read is over nobody knows how many entries. */
export function faultOfCheckpoint({ size, unreadable, reason }: CheckpointFault): AuditFault {
  if (unreadable === undefined) return { seq: size, checkpoint: size, reason };
  return { seq: size, reason: `or a later one is not vouched for: checkpoint number ${unreadable} ${reason}` };
}
