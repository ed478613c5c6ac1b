// domain: the store as a run uses it, from its beginning to its end. In: the run, and all that it decided. Out: the open state that
// deciding needs. It says nothing about single targets: acting has a port of its own.
import type { IntentTransitions } from './act-store.ts';
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { RecordReader } from './record-reader.ts';
import type { Run } from './run.ts';
import type { ClockAgreement } from './steady-time.ts';
import type { OpenState, Removed, RunCommit } from './store.ts';

export interface OpenStateReader {
  openState(nowMs: number): Promise<OpenState>;
  /** Of the clocks that the stored times were written by; undefined before the first. */
  clockAgreement(): Promise<ClockAgreement | undefined>;
}

export interface RunStore extends OpenStateReader, Pick<RecordReader, 'plans'>, Pick<IntentTransitions, 'reopen'> {
  /** Binds the database to an API address at its first use. Another one: AppError `bound_elsewhere`. */
  bind(address: string): Promise<void>;
  beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[]): Promise<Run>;
  finishRun(run: Run, notes: AuditNote[]): Promise<void>;
  /** Runs that a dead process left `running` become `aborted`; answers how many. */
  abortStaleRuns(at: number): Promise<number>;
  commitRun(commit: RunCommit): Promise<void>;
  /**
   * Takes out, with an audit entry, some of the runs that finished so long before the newest 1,000 and that nothing rests on,
   * with the decisions that only they showed; undefined: there are none.
   */
  removeOldRuns(olderByMs: number): Promise<Removed | undefined>;
  /** Attempts in the count of a run so far, by action, for the ceilings of a run. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  /** Writes down and audits, once, that plans are over which waited until their end; answers how many. */
  expirePlans(): Promise<number>;
  /** Of the clocks by which times are written from now on. */
  keepClockAgreement(agreement: ClockAgreement): Promise<void>;
}
