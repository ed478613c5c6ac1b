// report: the figures of a run's report beside its decisions: what changed, what is affected, limits, ceilings and the trend. The shape
// of the JSON document, like report.ts.
import type { ActionName } from '../domain/action.ts';
import type { CeilingWindow } from '../domain/ceiling.ts';
import type { DecisionName } from '../domain/decision.ts';
import type { SubjectKind } from '../domain/subjects.ts';

/**
 * What differs from the last completed run of the same kind: over all rules, and a dry run like this one or a live one. A run over
 * chosen rules compares only these.
 */
export interface ReportChanges {
  /** Null when there is none: then all decisions of this run are new, except those that an earlier run wrote. */
  since: { run: string; seq: number; at: string } | null;
  new: number;
  /** No longer decided. */
  gone: number;
  /** About the same rule, subject, action and target, and decided otherwise. */
  changed: number;
  still: number;
  /** At most 100. */
  goneExamples: ReportGone[];
}

export type ReportChange = 'new' | 'changed' | 'still';

export interface ReportGone {
  rule: string;
  subject: { kind: SubjectKind; id: string; name: string };
  action: ActionName;
  target: string;
  decision: DecisionName;
  /** Why it ended; null where that is not known. */
  why: string | null;
}

/** What a group of decisions affects. Each device and each person counts once, however many decisions are about them. */
export interface ReportEffect {
  rule: string;
  action: ActionName;
  decision: DecisionName;
  decisions: number;
  devices: number;
  /** Owners of the devices, and users that it is about. */
  people: number;
  /** Devices whose owners are not known. */
  ownersUnknown: number;
}

/** What a rule may take at once, and in a day. */
export interface ReportLimit {
  rule: string;
  /** Subjects that match. */
  matches: number;
  /** Targets that the limit was compared with: without those that were skipped before. */
  targets: number;
  max: number;
  percent: number;
  /** The lesser of `max` and `percent` of the subjects. */
  allowed: number;
  crossed: boolean;
  /** Subjects that it newly matched or acted on within 24 hours, and how many it may; null: not known. */
  inDay: { subjects: number; allowed: number; crossed: boolean } | null;
}

/** How often an action may be attempted. */
export interface ReportCeiling {
  action: ActionName;
  window: CeilingWindow;
  /** In the run: what it acts on, or would act on. In 24 hours: that, and the attempts before. */
  used: number;
  allowed: number;
}

export interface ReportTrend {
  rule: string;
  /** The oldest first; without runs that did not judge the rule. */
  counts: { seq: number; at: string; match: number }[];
}
