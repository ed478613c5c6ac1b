// domain: the store as looks at the event log between two whole runs see it. In: the last whole run, a time. Out: what is known already,
// and what counts with the next run. It changes nothing.
import type { ActionName } from './action.ts';
import type { StoredDecision } from './decision.ts';
import type { RunRecord } from './store.ts';
import type { SubjectRef } from './subjects.ts';

/** A decision that came as far as the limits. */
export interface CountedDecision
  extends Pick<StoredDecision, 'rule' | 'subject' | 'reason' | 'action' | 'target' | 'mode' | 'cappedBy'> {
  /** Of the devices that it touches, in lower case; none where its run did not read owners. */
  owners: readonly string[];
}

/** A match whose episode began after the last whole run. */
export interface NewMatch extends Pick<StoredDecision, 'facts'> {
  subject: SubjectRef;
}

export interface WatchReader {
  /** The newest completed run over all active rules and all subjects; `known`: it is returned again if it still is the newest. */
  lastWholeRun(known?: RunRecord): Promise<RunRecord | undefined>;
  /** The stored events of a time on: when each was created, by id. */
  eventTimes(fromMs: number): Promise<ReadonlyMap<string, number>>;
  /** Matches with one of these reasons that were decided in this run or since, or were in force in it: also those that were replaced. */
  countedSince(runSeq: number, reasons: readonly string[]): Promise<CountedDecision[]>;
  /** Of runs after this one: matches that began after this time. */
  newMatchesSince(runSeq: number, atMs: number): Promise<NewMatch[]>;
  /** Attempts in the count of a run so far, by action. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  /** How many of these failed, were refused, or are in doubt. */
  failuresOfRun(runId: string): Promise<number>;
}
