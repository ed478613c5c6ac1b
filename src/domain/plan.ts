// domain: the intended actions of a run, sealed by a digest. Approved exactly; applied exactly or in part.
import type { IntentDraft } from './intent.ts';
import type { Mode } from './mode.ts';

export type PlanStatus = 'pending' | 'approved' | 'applying' | 'applied' | 'rejected' | 'superseded' | 'expired';

/** One intent in a plan, with why it waits (or that it acts by itself in `enforce`). */
export interface PlannedIntent extends IntentDraft {
  /** SHA-256 of action, target and episodes: names this intent within and across plans. */
  key: string;
  held: boolean;
  reason: string;
  reasonText: string;
}

/**
 * The effective status of a stored plan: one that nobody answered, or that was approved and not applied, is expired
 * from its end on, whether or not the expiry has been recorded. The store calls this whenever it reads a plan.
 */
export function statusAt({ status, expiresAt }: Pick<Plan, 'status' | 'expiresAt'>, nowMs: number): PlanStatus {
  return (status === 'pending' || status === 'approved') && expiresAt <= nowMs ? 'expired' : status;
}

export interface Plan {
  id: string;
  /** SHA-256 over rule hashes, intents and the record facts behind them. */
  digest: string;
  runId: string;
  /** The lower of the run's and the daemon's mode: a dry plan and a live one do not supersede each other. */
  mode: Mode;
  /** As of the time of reading: a plan past its end reads as `expired`. */
  status: PlanStatus;
  intents: PlannedIntent[];
  createdAt: number;
  expiresAt: number;
  decidedAt: number | undefined;
  decidedBy: string | undefined;
  decidedReason: string | undefined;
}
