// domain: a replay: recorded time, sent once more through evaluating and deciding. In: nothing. Out: what it found, as reports show it.
// Nothing of it is sent or kept.
import type { ActionName } from './action.ts';
import type { DecisionName, ReasonCode } from './decision.ts';
import type { HistoryGap } from './recorded-history.ts';
import type { Mode } from './rule.ts';
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
  /** By the model of people, a warning would have avoided it. */
  isAvoided?: boolean | undefined;
}

/** What a what-if assumes of people who are warned: this share of them, out of `ALL` and always the same, mends what is wrong so long after it. */
export interface MendModel {
  share: number;
  afterMs: number;
}

/** As the command takes it. Nobody has measured it: round figures to begin with. */
export const MEND_DEFAULT = '50%,4h';

/** Whom a rule warned before it acted. Of the matches that are neither mended nor acted on, the deadline was not over, or something else held them. */
export interface ReplayedNotice {
  /** Matches of which an owner was warned. */
  warned: number;
  /** Of these: over before anything was done, as the record shows. */
  mended: number;
  /** Of these: acted on after the deadline. */
  acted: number;
  /** Actions that would not have been done by the model of people; undefined: none was asked for. */
  avoided: number | undefined;
  /** Different targets that waited for a person, since somebody could not be warned. */
  undelivered: number;
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
  /** What its limits allowed in the run of `mostTargets`, and the least ceilings of its actions in a run and in 24 hours. */
  allowed: { limits: number; run: number; day: number } | undefined;
  /** The most targets that its limits were asked about in one run; if any run crossed them, in one that did. */
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
  /** Undefined: it warns nobody. */
  notice: ReplayedNotice | undefined;
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

export interface ProgressStep {
  phase: 'reading' | 'deciding' | 'recording' | 'acting' | 'settling doubts' | 'sealing the audit' | 'waiting';
  /** A source while reading, an action and its target while acting. From devices, and hostile. */
  what?: string;
  done?: number;
  /** As expected; undefined while nobody knows. */
  total?: number | undefined;
}

/** Called often: it returns at once and never throws. */
export type Progress = (step: ProgressStep) => void;

/** A step, and the run, the applied plan or the tried rule whose step it is. */
export interface WorkProgress extends ProgressStep {
  run?: string | undefined;
  plan?: string | undefined;
  trial?: string | undefined;
}

// Two rule sets compared over what was recorded.

/** A subject that one of the two rule sets affects, and the other one does not. */
export interface DifferingSubject {
  rule: string;
  subject: SubjectRef;
  subjectName: string;
  /** Absent: not known. */
  owners?: readonly string[] | undefined;
  /** Now: when it was last seen. Over the time: when it was first acted on. */
  atMs: number;
}

export const DIFFERING_MAX = 50;

export interface DifferingSubjects {
  /** Different subjects. */
  total: number;
  /** At most `DIFFERING_MAX`. */
  first: readonly DifferingSubject[];
}

/** What one rule does in one of the two sets; undefined figures: the set does not have it, or its mode is `off`. */
export interface RuleDifference {
  id: string;
  /** Of the new set where it has the rule. */
  title: string;
  /** Of the rule's text. `same`: another rule of the set changed what it does. */
  change: 'added' | 'removed' | 'changed' | 'same';
  /** Subjects that it matches in the last recorded state, and those that it cannot judge. */
  now: {
    old: { matches: number; unknown: number } | undefined;
    new: { matches: number; unknown: number } | undefined;
    added: DifferingSubjects;
    gone: DifferingSubjects;
  };
  /** Over the stretch, as the two replays found it. `added` and `gone` are of subjects that were acted on, or held. */
  overTime: {
    old: ReplayedRule | undefined;
    new: ReplayedRule | undefined;
    added: DifferingSubjects;
    gone: DifferingSubjects;
  };
}

export interface RuleSetDifference {
  /** When the last recorded state was read; undefined without any. */
  nowAtMs: number | undefined;
  /** The replayed stretch. */
  fromMs: number;
  toMs: number;
  askedFromMs: number;
  runs: number;
  gaps: readonly HistoryGap[];
  /** Rules that differ in text or in what they do, the order of their ids. Empty: the sets are equal. */
  rules: readonly RuleDifference[];
  /** Different subjects over all rules: affected by any rule of the one set and by none of the other. */
  all: { now: { added: number; gone: number }; overTime: { added: number; gone: number } };
  /** Of the new set. */
  untrusted: readonly ReplayedDistrust[];
  notes: readonly string[];
  /** Of both sets: what they need and recorded runs did not read. */
  unread: readonly ReplayedUnread[];
  /** Paths that a rule of the new set reads and no segment has, with the rules. */
  neverRecorded: readonly { path: string; rules: readonly string[] }[];
}

// The port of replays: recorded time, sent once more through evaluating and deciding.

export interface ReplayAsked {
  /** Epoch ms, inclusive: runs that began from then on. */
  fromMs: number;
  toMs: number;
  /** Only the first whole run of each stretch of this length is decided; undefined: every run. */
  everyMs: number | undefined;
  /** Ids of the rules to report; undefined: all. */
  rules: readonly string[] | undefined;
  /** Of a what-if only. */
  mend?: MendModel | undefined;
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

// The port of replays that a daemon makes for its page: one at a time, in a process of its own.

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

export const REPORT_FORMATS = ['text', 'json', 'md', 'csv', 'html'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];
