// audit: a fault of the checkpoints as a fault of the record.
import type { AuditFault } from '../domain/audit-check.ts';
import type { CheckpointFault } from './checkpoint.ts';

/** A bad checkpoint among others that may be wrong. How many entries an unreadable one covers is unknown. */
export function faultOfCheckpoint({ size, unreadable, reason }: CheckpointFault): AuditFault {
  if (unreadable === undefined) return { seq: size, checkpoint: size, reason };
  return { seq: size, reason: `or a later one is not covered: checkpoint number ${unreadable} ${reason}` };
}
