// domain: the store as a run uses it, from its beginning to its end. In: the run, and all that it decided. Out: the open state that
// deciding needs. It has no reads of single targets: acting has its own port.
import type { IntentTransitions } from './act-store.ts';
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { IdentityChanges } from './identity.ts';
import type { Lists } from './lists.ts';
import type { KeptLatency } from './quiet-period.ts';
import type { RecordReader } from './record-reader.ts';
import type { Run } from './run.ts';
import type { ClockAgreement } from './steady-time.ts';
import type { OpenState, OpenStateAbout, Removed, RunCommit } from './store.ts';

export interface OpenStateReader {
  openState(nowMs: number): Promise<OpenState>;
  /** What of it deciding these subjects alone needs. */
  openStateOf(nowMs: number, about: OpenStateAbout): Promise<OpenState>;
  /** Clock state when the stored timestamps were taken; undefined before the first. */
  clockAgreement(): Promise<ClockAgreement | undefined>;
  /** The latency of the API at the last attempt or outcome; undefined before the first. */
  keptLatency(): Promise<KeptLatency | undefined>;
}

export interface RunStore extends OpenStateReader, Pick<RecordReader, 'plans'>, Pick<IntentTransitions, 'reopen'> {
  /**
   * Binds the database to an API address at its first use, and notes the lists that a run read there: a change of these is audited.
   * Another address: AppError `bound_elsewhere`.
   */
  bind(address: string, lists?: Lists): Promise<void>;
  /** `onceId`: as in `RunRequest`. */
  beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[], onceId?: string): Promise<Run>;
  finishRun(run: Run, notes: AuditNote[]): Promise<void>;
  /**
   * Runs that a dead process left `running` become `aborted`; returns how many. Plans that it left `applying` become
   * `interrupted`.
   */
  abortStaleRuns(at: number): Promise<number>;
  commitRun(commit: RunCommit): Promise<void>;
  /** Of the kinds that were read and are trusted. In parts, and without an audit entry: nothing that acts rests on them. */
  saveIdentities(changes: readonly IdentityChanges[]): Promise<void>;
  /**
   * Removes, with an audit entry, some of the runs that finished this long before the newest 1,000 and that nothing depends on, with
   * the decisions, intents and plans that only they show, and old closed episodes; undefined: there are none.
   */
  removeOldRuns(olderByMs: number): Promise<Removed | undefined>;
  /** Keeps of some long superseded plans only their digest, size and difference, with an audit entry. Returns how many. */
  dropPlanIntents(): Promise<number>;
  /** Attempts in the count of a run so far, by action, for the ceilings of a run. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  /** Records and audits, once, that plans waited until their end and expired; returns how many. */
  expirePlans(): Promise<number>;
  /** Stores the clock state for the timestamps taken from now on. */
  keepClockAgreement(agreement: ClockAgreement): Promise<void>;
}
