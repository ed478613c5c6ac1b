// domain: two rule sets compared over what was recorded. In: nothing. Out: what the comparison found, as `rules diff` shows it. Both sets are
// replayed as a what-if over the same stretch; nothing is sent or kept.
import type { HistoryGap } from './recorded-history.ts';
import type { ReplayedDistrust, ReplayedRule, ReplayedUnread } from './replay.ts';
import type { SubjectRef } from './subjects.ts';

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
