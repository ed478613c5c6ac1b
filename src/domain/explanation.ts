// domain: why a rule gives its verdict on one subject, as data: the tree with operand values, the facts read, what would flip it; what would
// be decided now, and what the last run decided. evaluate and explain make it; report and the pages show it. Names in it are hostile.
import type { Claim } from './claim.ts';
import type { Decision, ReasonCode, StoredDecision } from './decision.ts';
import type { Fact } from './facts.ts';
import type { Mode } from './mode.ts';
import type { SourceReading } from './snapshot.ts';
import type { Source, SubjectRef } from './subjects.ts';
import type { Flip, VerdictName } from './verdict.ts';

export type Answer = 'true' | 'false' | 'unknown' | 'error';

export interface ExplainedPart {
  text: string;
  /** For conditions: the three-valued answer. */
  answer: Answer | undefined;
  /** For values: the value; undefined when it is not known. */
  value: Fact | undefined;
  /** What the value is, where that is more than a number. */
  unit?: ShownUnit;
  /** Why it is unknown or an error. */
  reason: string | undefined;
  parts: ExplainedPart[];
}

/** `time`: a point in time of any unit, recognised by its magnitude. `seconds`: a span. */
export type ShownUnit = 'time' | 'seconds';

/** One fact that the rule read. */
export interface ExplainedFact {
  fact: string;
  /** Undefined when it is unknown; `reason` says why. */
  value: Fact | undefined;
  /** What the value is, where that is more than a number. */
  unit?: ShownUnit;
  reason: string | undefined;
  source: Source;
  /** How long ago its source was read, in whole ms; negative: in the future. */
  ageMs: number | undefined;
  /** Its freshness timestamps and their age. No age: never set. */
  vouchedBy: { fact: string; value: Fact | undefined; ageMs: number | undefined; ageMaxMs: number }[];
  /** Of a fact that looks back. */
  past?: ExplainedPast;
}

/** What is known of a field's past. */
export interface ExplainedPast {
  /** The value before the present one; undefined: it is not known. */
  was: Fact | undefined;
  /** When the present value was first seen after another one. */
  changedAt: number | undefined;
  /** Since when it is known without a gap. */
  knownSince: number | undefined;
}

/** `serial` and `owners`: of a device, where the record shows them. */
export interface ExplainedIdentity extends SubjectRef {
  name: string;
  serial?: string;
  owners?: readonly string[];
}

export interface Explanation {
  rule: string;
  title: string;
  hash: string;
  subject: ExplainedIdentity;
  at: number;
  verdict: VerdictName;
  /** For `unknown` and `error`: why, and every fact that was not known. */
  reason: string | undefined;
  missing: string[];
  tree: ExplainedPart;
  facts: ExplainedFact[];
  /** The smallest change found for each other verdict. */
  flips: Flip[];
}

/** What a run over some rules and one subject would decide now. */
export type DecidedNow = Pick<
  Decision,
  'rule' | 'action' | 'target' | 'decision' | 'reason' | 'reasonText' | 'verdict' | 'mode' | 'facts' | 'effect'
> & {
  /** Checks that weigh the subject among others: a run may answer with one of them instead. */
  notAsked: readonly ReasonCode[];
};

/** What an explanation uses besides the records that it read, with times. */
export interface ExplainBasis {
  /** The last run that judged this rule, with the number of subjects and of matches. `wasEdited`: the rule has changed since. */
  run:
    | { id: string; seq: number; at: number; mode: Mode; match: number; subjects: number; wasEdited: boolean }
    | undefined;
  /** The rule's lists as last read. Without a run: none of the last runs read the list, and it counts as trusted. */
  sources: (BasisReading & { source: Source; seq: number | undefined })[];
  /** The event log as read now; undefined when the rule counts no events. */
  events: BasisReading | undefined;
}

export interface BasisReading extends Pick<SourceReading, 'state' | 'trusted'> {
  at: number | undefined;
  reasons: string[];
}

/** What the run of `ExplainBasis.run` decided about the subject: its own decisions, and unchanged ones of earlier runs. */
export interface Recorded {
  decisions: StoredDecision[];
  /** Why there are no decisions. */
  none: string | undefined;
}

export interface ExplainedSubject {
  explanation: Explanation;
  /** The rule's own mode: for a rule that is `off`, nothing is decided. */
  mode: Mode;
  /** What a run over this rule and this one subject would decide now. */
  decisions: DecidedNow[];
  /** Open claims of this rule on this subject. */
  claims: Claim[];
  /** `differs`: from what would be decided for this one subject now. */
  recorded: Recorded & { differs: boolean };
  basis: ExplainBasis;
}
