// domain: a replay: recorded time, sent once more through evaluating and deciding. In: nothing. Out: what it found, as reports show it.
// Nothing of it is sent or kept.
import type { ActionName } from './action.ts';
import type { DecisionName, ReasonCode } from './decision.ts';
import type { Mode } from './mode.ts';
import type { HistoryGap } from './recorded-history.ts';
import type { TrustReason } from './snapshot.ts';
import type { Source, SubjectRef } from './subjects.ts';

/**
 * as_was: the rules that were active, over what was recorded, with the recorded outcomes: it gives the decisions that were made. what_if: other
 * rules, each as if its mode were `enforce`; a model of the platform on which actions take effect, and on which people's recorded acts stay.
 */
export type ReplayWay = 'as_was' | 'what_if';

/** An action that was, or would have been, taken. */
export interface ReplayedAct {
  atMs: number;
  runSeq: number;
  rule: string;
  subject: SubjectRef;
  subjectName: string;
  action: ActionName;
  target: string;
  /** Of the subject's devices, or of the device itself, as recorded then; absent: not known. */
  owners?: readonly string[] | undefined;
  /** It undoes an earlier one. */
  undo: boolean;
  /** Until it was undone, or until the end of the replay: then `isOver` is false. Of an undo: undefined. */
  lastedMs: number | undefined;
  isOver: boolean;
  /** A person did the same to the target within the replayed time, at or after this; undefined: nobody did. */
  personDidAtMs: number | undefined;
  /** A person took it back. */
  personUndidAtMs: number | undefined;
}

/** What was, or would have been, kept from acting by a limit, a ceiling, an exemption …, by the first reason. */
export interface ReplayedHeld {
  decision: Exclude<DecisionName, 'act'>;
  reason: ReasonCode;
  /** Different targets. */
  targets: number;
  /** Some of them, the first ones in time; at most `HELD_EXAMPLES_MAX`. */
  examples?: readonly ReplayedExample[] | undefined;
}

export const HELD_EXAMPLES_MAX = 100;

/** One target that was kept from being acted on, when that was first. */
export interface ReplayedExample
  extends Pick<ReplayedAct, 'atMs' | 'subject' | 'subjectName' | 'action' | 'target' | 'owners'> {
  /** With its figures. */
  reasonText: string;
}

export interface ReplayedRule {
  id: string;
  title: string;
  hash: string;
  /** In its file. */
  mode: Mode;
  /** Different subjects that it matched. */
  matches: number;
  /** Actions, without undos. */
  acts: number;
  undos: number;
  /** The most actions in one run, and in 24 hours, and when; beside what allows them. */
  mostInRun: number;
  mostInRunAtMs: number | undefined;
  mostInDay: number;
  mostInDayAtMs: number | undefined;
  /** The least that its limits allowed in one run, in targets, and the ceilings of its actions in a run and in 24 hours. */
  allowed: { limits: number; run: number; day: number } | undefined;
  /** The most targets that its limits were asked about in one run. */
  mostTargets: number;
  /** Actions that were undone within the hour. */
  flaps: number;
  /** How long its actions lasted, ms; undefined without any. */
  lasted: { medianMs: number; longestMs: number } | undefined;
  personDid: number;
  personUndid: number;
  /** Different subjects that it could not judge at some time. */
  unknown: number;
  /** Of these, by missing fact. */
  missing: { [fact: string]: number };
  held: ReplayedHeld[];
}

/** A decision that the replay made otherwise than the run did. */
export interface ReplayDifference {
  atMs: number;
  runSeq: number;
  rule: string;
  target: string;
  /** What the run decided, and the replay; undefined: nothing. */
  was: string | undefined;
  is: string | undefined;
  /** Why the record cannot give the same: a gap, a damaged segment, a secret that was dropped. */
  reason: string;
  /** False: nothing in the record explains it, which is a fault of Trustward. */
  isExplained: boolean;
}

/** A stretch of whole runs in which a list was not trusted, or could not be read: nothing was done by what it showed. */
export interface ReplayedDistrust {
  source: Source;
  code: TrustReason['code'];
  /** Of the first of them. */
  text: string;
  fromMs: number;
  toMs: number;
  runs: number;
  /** That read it. */
  rules: string[];
}

/** What replayed rules or their actions need, and recorded runs did not read: nothing is known of it in these. */
export interface ReplayedUnread {
  /** A source; of version 1, `Emails` of devices and `SerialNumbers` of users, which only whole lists have; `bundles`. */
  list: Source | 'Emails' | 'SerialNumbers' | 'bundles';
  rules: string[];
  /** Whole runs that did not read it, of so many; the first and the last of them. */
  runs: number;
  of: number;
  fromMs: number;
  toMs: number;
  /** For people: which runs, what follows, what to do. */
  text: string;
}

/** One stretch of the replayed time, for the picture. */
export interface ReplayBucket {
  fromMs: number;
  toMs: number;
  runs: number;
  /** By rule: the most subjects that matched in one of its runs; actions and undos in all of them. */
  rules: { [rule: string]: { matches: number; acts: number; undos: number; unknown: number } };
}

export interface Replay {
  way: ReplayWay;
  /** The first and the last replayed run; equal to what was asked for when there is none. */
  fromMs: number;
  toMs: number;
  /** What was asked for. */
  askedFromMs: number;
  everyMs: number | undefined;
  /** Replayed ones; and whole runs among them. */
  runs: number;
  wholeRuns: number;
  /** Those that were decided again: with `everyMs` fewer than all. */
  decidedRuns: number;
  gaps: HistoryGap[];
  rules: ReplayedRule[];
  /** In the order of time; undos too. */
  acts: ReplayedAct[];
  /** Of `as_was` only. */
  differences: ReplayDifference[];
  /** In the order of time. Of a what-if: as the replayed rules would have had it. */
  untrusted: ReplayedDistrust[];
  /** Sentences: what was taken for true where the record does not show it. */
  notes: string[];
  /** Known before the work, too: see Replayer.unread. */
  unread: ReplayedUnread[];
  /** Paths that a rule reads and no segment has, with the rules. */
  neverRecorded: { path: string; rules: string[] }[];
  buckets: ReplayBucket[];
}
