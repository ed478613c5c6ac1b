// domain: the port of replays that a daemon makes for its page: one at a time, in a process of its own. In: what is asked for. Out: the one
// that is under way, or the last one. It is kept in memory, or where all endpoints of a database see it.
import type { ReplayWay } from './replay.ts';

export interface AskedReplay {
  way: ReplayWay;
  /** As a person gives it: a duration back from now, or a date. */
  since: string;
  /** Undefined: all rules. */
  rule: string | undefined;
}

export interface ReplayBeside {
  asked: AskedReplay;
  by: string;
  startedAt: number;
  /** Undefined while it is under way. */
  finishedAt: number | undefined;
  /** What it found, as `replay --format json` prints it; undefined while it is under way, and when it failed. */
  found: object | undefined;
  /** What it says before its work: lists that its rules need and nobody recorded. */
  notes?: readonly string[] | undefined;
  /** Why it failed. */
  fault: string | undefined;
}

export interface ReplaysBeside {
  /** Returns when it has begun. Errors: AppError `usage` for a time that is none; `busy` while one is under way. */
  begin(asked: AskedReplay, by: string): Promise<void>;
  current(): Promise<ReplayBeside | undefined>;
}

/** A month of 50 rules over 100,000 devices takes minutes. What takes longer is broken off. */
export const REPLAY_WITHIN_MS = 30 * 60_000;

/** How a line of the command begins that says what stands in the way, before the work. */
export const NOTE = 'note: ';

/** Where the one under way, or the last one, is kept. */
export interface ReplayKeeper {
  /** In place of the last one. False: one is under way. */
  begin(replay: ReplayBeside): Promise<boolean>;
  /** The same, with what is known of it by now. */
  goesOn(before: ReplayBeside, now: ReplayBeside): Promise<void>;
  end(begun: ReplayBeside, ended: ReplayBeside): Promise<void>;
  last(): Promise<ReplayBeside | undefined>;
}
