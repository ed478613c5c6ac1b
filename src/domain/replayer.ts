// domain: the port of replays: recorded time, sent once more through evaluating and deciding. In: what is asked for. Out: what was found.
// Nothing is sent or kept.
import type { Progress } from './progress.ts';
import type { Replay, ReplayedUnread } from './replay.ts';
import type { RuleSetDifference } from './rule-set-difference.ts';

export interface ReplayAsked {
  /** Epoch ms, inclusive: runs that began from then on. */
  fromMs: number;
  toMs: number;
  /** Only the first whole run of each stretch of this length is decided; undefined: every run. */
  everyMs: number | undefined;
  /** Ids of the rules to report; undefined: all. */
  rules: readonly string[] | undefined;
}

export interface ReplayWork {
  /** Aborted: the replay breaks off with AppError `stopped`. */
  signal?: AbortSignal | undefined;
  progress?: Progress | undefined;
}

/** Errors of all: AppError `not_found` when nothing was ever recorded; `io` as of a HistoryReader; `stopped`. */
export interface Replayer {
  /** From the first recorded run to the last one, epoch ms; undefined without any. */
  span(): Promise<{ fromMs: number; toMs: number } | undefined>;
  /** What rules of these folders need and recorded runs did not read: quickly, from the frames of the runs alone. Errors: as `whatIf`. */
  unread(asked: ReplayAsked, rulesDirs: readonly string[], work: ReplayWork): Promise<ReplayedUnread[]>;
  asItWas(asked: ReplayAsked, work: ReplayWork): Promise<Replay>;
  /** Errors: `rules` for a folder that cannot be loaded; `not_found` for a rule that it does not have. */
  whatIf(asked: ReplayAsked, rulesDir: string, work: ReplayWork): Promise<Replay>;
  compare(
    asked: Omit<ReplayAsked, 'rules'>,
    sets: { old: string; new: string },
    work: ReplayWork,
  ): Promise<RuleSetDifference>;
}
