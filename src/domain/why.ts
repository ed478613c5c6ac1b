// domain: the shape of what is known of one subject: the JSON document of `why`. explain makes it; commands and pages show it. Times are
// epoch milliseconds. Names in it are hostile.

import type { ActionName } from './action.ts';
import type { Decision, ReasonCode, StoredDecision } from './decision.ts';
import type { Claim } from './episode.ts';
import type { Exemption } from './exemption.ts';
import type { Fact, Facts } from './facts.ts';
import type { Identity } from './identity.ts';
import type { Intent } from './intent.ts';
import type { Stop } from './operator.ts';
import type { BreakGlass, PlanStatus } from './plan.ts';
import type { Mode } from './rule.ts';
import type { SourceReading } from './snapshot.ts';
import type { ReadingName, Source, SubjectRef } from './subjects.ts';
import type { Flip, VerdictName } from './verdict.ts';

// Why a rule gives its verdict on one subject, as data: the tree with operand values, the facts read, what would flip
// it; what would be decided now, and what the last run decided. evaluate and explain make it; report and the pages show
// it.

type Answer = 'true' | 'false' | 'unknown' | 'error';

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
  source: ReadingName;
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

// What happened to one target or one subject, as one list: decisions, calls and what people did.

/**
 * decision: a run decided something new. call: an intent that was begun, with its outcome. reversal: somebody reversed what Trustward did, or
 * commanded to release it. resolution: a person resolved a doubt. exemption: one began or ended. notice: a
 * person was warned, or could not be. fact: a run saw other facts than those before it.
 */
export const HISTORY_KINDS = ['decision', 'call', 'reversal', 'resolution', 'exemption', 'notice', 'fact'] as const;
type HistoryKind = (typeof HISTORY_KINDS)[number];

/** `facts`: what changed of its facts alone; `acts`: all but that. */
export const TIMELINE_PARTS = ['all', 'facts', 'acts'] as const;
export type TimelinePart = (typeof TIMELINE_PARTS)[number];

export interface HistoryLine {
  /** Epoch ms. */
  at: number;
  kind: HistoryKind;
  /** In words. It may hold hostile names: whoever shows it escapes it. */
  text: string;
  action: ActionName | undefined;
  target: string | undefined;
  rules: readonly string[];
  /** The number of the run that did it; undefined when a person did, or the run was removed. */
  run: number | undefined;
  /** The person, as the audit names them; undefined: Trustward, or somebody unknown to it. */
  by: string | undefined;
  /** Of the decision, intent, episode, claim or exemption; the number of the run that saw other facts. */
  id: string;
}

/** Of an answer about an earlier time: what it rests on. */
export interface AsOf {
  /** The time that was asked for, epoch ms. */
  askedAt: number;
  /** The last recorded run before it, and when that began. */
  run: number;
  runAt: number;
  /** When the last recorded run before it began that read the subject. */
  seenAt: number;
  /** What the answer lacks, one sentence each. */
  notes: string[];
}

export interface Why {
  /** Absent: it is about the present. */
  asOf?: AsOf;
  subject: Identity;
  /** Other devices of its serial number; the devices of a user. */
  devices: { identity: Identity; states: TargetState[] }[];
  /** When it was read, epoch ms. */
  at: number;
  /** Why it could not be read now; undefined: it was. */
  unread: string | undefined;
  /** Its record as read now, without secrets; undefined: it could not be read, or its serial number is another device's now. */
  record: Facts | undefined;
  states: TargetState[];
  /** Open ones on the subject or its target. */
  claims: Claim[];
  waiting: WaitingIntent[];
  /** Live intents that are not done: under way, in doubt, failed or parked. */
  unfinished: Intent[];
  /** The exemption in force that protects it. */
  exemption: Exemption | undefined;
  /** The one that it joined after that was made: it waits for a person's yes. */
  joined: Exemption | undefined;
  stop: Stop | undefined;
  /** Every loaded rule about this kind of subject, and of a device those about its owners that act on their devices. */
  rules: WhyRule[];
  /** The newest first. */
  history: HistoryLine[];
}

/** An intent of a plan that waits for a person. */
export interface WaitingIntent {
  plan: string;
  digest: string;
  status: PlanStatus;
  expiresAt: number;
  action: ActionName;
  target: string;
  rules: string[];
  reasonText: string;
}

export interface WhyRule {
  rule: string;
  /** The owner that it is about, where a rule about users acts on their devices; absent: the subject itself. */
  of?: string;
  title: string;
  mode: Mode;
  revert: boolean;
  /** Undefined: the subject could not be read now. */
  verdict: VerdictName | undefined;
  /** Of `unknown` and `error`: which fact, and why. */
  reason: string | undefined;
  /** The smallest change that was found to give another verdict. */
  flip: Flip | undefined;
  /** The condition with its values; of an answer about an earlier time. */
  tree?: ExplainedPart;
  decisions: DecidedNow[];
  /** It has not matched since `since`; what it did is undone after `until` if it does not match again before. Epoch ms. Absent: it matches, or did nothing. */
  clearing?: { since: number; until: number };
}

export interface WayOut {
  /** What it does, such as `undo it, and keep it so`. */
  purpose: string;
  /** As typed, from the name of the program on. Words in capitals are for the reader to fill in. */
  command: string;
}

export interface WhyAnswer extends Why {
  /** What happens by itself next, in sentences; never empty. */
  next: string[];
  /** Commands with which a person changes that. */
  commands: WayOut[];
}

export interface TargetState {
  /** The action that takes access away. */
  action: ActionName;
  /** What the target is called when it is done: `banned`. */
  text: string;
  target: string;
  /** Undefined: the platform does not have the target, or does not answer. */
  isSo: boolean | undefined;
  /** Trustward's last action on the target that was done: this one or its inverse. */
  last: DoneAction | undefined;
  /** Trustward's last action made it as it is now. False: somebody else did, or it never was otherwise. */
  isOwn: boolean;
}

export interface DoneAction {
  intent: Intent;
  runSeq: number | undefined;
  /** Its run was a look at new events. */
  isOfLook: boolean;
  /** Who approved its plan. */
  approvedBy: string | undefined;
  /** Who let its plan through the change windows. */
  breakGlass: BreakGlass | undefined;
}
