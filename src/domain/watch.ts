// domain: watch: a look at the event log between two whole runs, and what came of it.
import type { Mode } from './mode.ts';
import type { Run } from './run.ts';

export interface WatchRequest {
  mode: Mode;
  /** Scheduled times that passed since this time without a whole run, epoch ms. */
  missedSince(atMs: number): number;
  /** Whether a whole run may still be started between two scheduled ones. */
  mayStartWhole: boolean;
}

/** Why a look starts a whole run instead of judging single subjects. */
export type WholeReason = 'many_subjects' | 'fact_moved' | 'source_failed';

/** Why nothing is judged between whole runs; the next whole run that finds it over ends the rest. */
export type RestReason =
  | 'no_whole_run'
  | 'untrusted'
  | 'runs_missed'
  | 'events_forbidden'
  | 'nothing_to_watch'
  | WholeReason;

/**
 * The result of one look. `nothing`: no new event named a subject, or what it named changed nothing. `acted`: a run was recorded.
 * `whole`: a whole run is needed now. `rest`: nothing was asked for.
 */
export interface WatchLook {
  result: 'nothing' | 'acted' | 'whole' | 'rest';
  /** New events, the subjects that they name, and how many of these were read, were not found, or could not be read. */
  events: number;
  named: number;
  read: number;
  strangers: number;
  unread: number;
  /** When the oldest of these events was made, epoch ms by the clock of the API; absent without one. */
  oldestEventAt?: number;
  run: Run | undefined;
  reason: { code: WholeReason | RestReason; text: string } | undefined;
}

/** `rests`: nothing is judged until a whole run ends the reason. `fails`: looks break off. */
export type WatchState =
  | { kind: 'looks' }
  | { kind: 'rests'; sinceMs: number; code: RestReason }
  | { kind: 'fails'; sinceMs: number; code: string };

/** Counted since `since`. One plain object: `/readyz` reads it, and metrics can. */
export interface WatchCounters {
  since: number;
  /** The time between two looks, ms; 0: watch is off. */
  everyMs: number;
  looks: number;
  failed: number;
  /** Runs over the subjects of a look, and whole runs that a look asked for. */
  runs: number;
  wholeRuns: number;
  events: number;
  named: number;
  strangers: number;
  unread: number;
  lastLookAt: number | undefined;
  state: WatchState;
}
