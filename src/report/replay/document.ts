// report: the document of a replay: the one form that all its writers read, and that other programs get as JSON. In: nothing. Out: types.
// Times are ISO 8601 in UTC; null: not known, or none. The schema of schema.ts describes it.
import type { DecisionName, ReasonCode } from '../../domain/decision.ts';
import type { Mode } from '../../domain/mode.ts';
import type { GapCause } from '../../domain/recorded-history.ts';
import type { ReplayedUnread, ReplayWay } from '../../domain/replay.ts';
import type { TrustReason } from '../../domain/snapshot.ts';
import type { Source, SubjectKind } from '../../domain/subjects.ts';

export interface ReplaySubject {
  kind: SubjectKind;
  id: string;
  name: string;
  /** Null: not known. */
  owners: string[] | null;
}

export interface ReplayActView {
  at: string;
  run: number;
  rule: string;
  subject: ReplaySubject;
  action: string;
  target: string;
  undo: boolean;
  lastedMs: number | null;
  isOver: boolean;
  personDidAt: string | null;
  personUndidAt: string | null;
}

export interface ReplayHeldView {
  decision: Exclude<DecisionName, 'act'>;
  reason: ReasonCode;
  reasonText: string;
  targets: number;
  examples: { at: string; subject: ReplaySubject; action: string; target: string; reasonText: string }[];
}

export interface ReplayRuleView {
  id: string;
  title: string;
  hash: string;
  mode: Mode;
  matches: number;
  acts: number;
  undos: number;
  mostInRun: number;
  mostInRunAt: string | null;
  mostInDay: number;
  mostInDayAt: string | null;
  allowed: { limits: number; run: number; day: number } | null;
  mostTargets: number;
  flaps: number;
  lasted: { medianMs: number; longestMs: number } | null;
  personDid: number;
  personUndid: number;
  unknown: number;
  missing: { [fact: string]: number };
  held: ReplayHeldView[];
}

export interface ReplayDifferenceView {
  at: string;
  run: number;
  rule: string;
  target: string;
  was: string | null;
  is: string | null;
  reason: string;
  explained: boolean;
}

export interface ReplayBucketView {
  from: string;
  to: string;
  runs: number;
  rules: { [rule: string]: { matches: number; acts: number; undos: number; unknown: number } };
}

export interface ReplayDocument {
  sentence: string;
  way: ReplayWay;
  /** The folder of the replayed rules; null: those that were active. */
  rulesDir: string | null;
  from: string;
  to: string;
  askedFrom: string;
  /** The first and the last run of the whole history; null: not asked. */
  recorded: { from: string; to: string } | null;
  everyMs: number | null;
  runs: number;
  wholeRuns: number;
  decidedRuns: number;
  gaps: { from: string; to: string; cause: GapCause; text: string }[];
  rules: ReplayRuleView[];
  acts: ReplayActView[];
  differences: ReplayDifferenceView[];
  /** Stretches of whole runs in which a list was not trusted. Of a what-if: would not have been. */
  untrusted: {
    source: Source;
    code: TrustReason['code'];
    text: string;
    from: string;
    to: string;
    runs: number;
    rules: string[];
  }[];
  /** What was taken for true where the record does not show it. */
  notes: string[];
  /** What the rules or their actions need, and recorded runs did not read. */
  unread: {
    list: ReplayedUnread['list'];
    rules: string[];
    runs: number;
    of: number;
    from: string;
    to: string;
    text: string;
  }[];
  neverRecorded: { path: string; rules: string[] }[];
  buckets: ReplayBucketView[];
}
