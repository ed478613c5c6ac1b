// domain: what is done about a match, and why. Written when new or changed; an unchanged one stays in force.
import { formatDuration, timeText } from '../base/time.ts';
import type { ActionName, Effect } from './action.ts';
import type { Fact } from './facts.ts';
import type { Mode, Rule } from './rule.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';
import type { Flip, VerdictName } from './verdict.ts';

export const DECISION_NAMES = ['act', 'hold', 'skip'] as const;
export type DecisionName = (typeof DECISION_NAMES)[number];

/** Reason codes. The first check that answers gives its reason (decide/checks/stages.ts has the order). */
export const REASONS = [
  'untrusted_source',
  'older_report', // the report that clears it is not newer than the one it was done for
  'exempt',
  'already_so',
  'in_doubt', // an intent of this episode is sent, unknown or parked
  'already_acted',
  'rejected', // an operator rejected this intent; it is suppressed for its episode
  'overridden',
  'for_not_reached',
  'cooldown',
  'outside_window', // its rule may act at other times alone
  'rollout', // its rule acts on a share of its subjects so far, and it is not among them
  'rollout_braked', // what people reversed or exempted stopped its rule
  'refused', // by the server, before it did anything (401, 403)
  'impossible_target',
  'serial_shared',
  'joined_later', // an exemption is about it now, and did not cover it when it was made
  'guarded', // guards.yaml asks a person about it
  'last_device', // guards.yaml: it is the last device of a person
  'devices_of_a_day', // guards.yaml: more devices of one person within 24 hours than it allows
  'conflict',
  'other_first', // a deletion waits for the other proposals for its target
  'limits',
  'owners',
  'approval_needed',
  'notice', // its rule warns first, and the deadline has not passed
  'notice_undelivered', // somebody could not be warned
  'rule_matches', // act
  'matches_again', // act: Trustward undid it within the last 24 hours
  'cleared', // act: the last claim ended, undo it; or skip: another rule's undo does it
  'ceiling',
  'drifted',
  'stopped',
  'frozen', // a change window is in force
] as const;
export type ReasonCode = (typeof REASONS)[number];

/** Reasons to hold that an approval lifts. */
export const LIFTED_BY_APPROVAL: ReadonlySet<ReasonCode> = new Set([
  'limits',
  'owners',
  'approval_needed',
  'serial_shared',
  'joined_later',
  'notice_undelivered',
  'guarded',
  'last_device',
  'devices_of_a_day',
]);

/** Reasons to skip that time alone ends while the rule goes on matching: what has them waits for its time. */
export const LIFTED_BY_TIME: ReadonlySet<ReasonCode> = new Set([
  'for_not_reached',
  'cooldown',
  'outside_window',
  'notice',
  'rollout',
]);

/** Why a match does not act yet: how long it must last, and since when it has. That may be later than it was first seen: a pause begins it again. */
export function lastingText(forMs: number, sinceMs: number): string {
  return `it must match for ${formatDuration(forMs)}, and has since ${timeText(sinceMs)}`;
}

/** Since when, of such a text; undefined of any other. */
export function lastingSince(text: string): number | undefined {
  const [, time] = / and has since (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)$/.exec(text) ?? [];
  return time === undefined ? undefined : Date.parse(time);
}

/** Codes in audit entries and sealed plans of earlier versions. */
const EARLIER_REASONS: { readonly [code: string]: ReasonCode } = { trouble: 'rule_matches', trouble_over: 'cleared' };

/** The current name of a stored reason. */
export function currentReason(code: string): string {
  return Object.hasOwn(EARLIER_REASONS, code) ? (EARLIER_REASONS[code] as ReasonCode) : code;
}

export const OUTCOMES = ['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface Decision {
  id: string;
  rule: string;
  ruleHash: string;
  subject: SubjectRef;
  subjectName: string;
  verdict: VerdictName;
  /** When the rule began to match this subject, epoch ms. */
  since: number;
  decision: DecisionName;
  reason: ReasonCode;
  /** The reason for people, with the figures or names behind it. */
  reasonText: string;
  action: ActionName;
  target: string;
  /** The lowest of the rule's, the run's and the daemon's mode. */
  mode: Mode;
  /** What made `mode` lower than the rule's own. */
  cappedBy: 'run' | 'daemon' | undefined;
  facts: { [path: string]: Fact };
  /** Found when the rule's verdict was new. Absent: none was found, or not looked for. */
  flip?: Flip | undefined;
  effect: Effect;
  episodeId: string | undefined;
  intentId: string | undefined;
  outcome: Outcome | undefined;
  /** The outcome for people: the answer's text, or why it is unknown or parked. */
  outcomeText: string | undefined;
}

/** A decision as the store returns it: with the runs in which it was in force. */
export interface StoredDecision extends Decision {
  /** The run that wrote it. */
  runId: string;
  runSeq: number;
  writtenAt: number;
  /** The first run in which it was no longer in force; undefined while it is in force. */
  endedSeq: number | undefined;
}

/** With what a person did since. */
export interface DecisionNow extends StoredDecision {
  /** A person said no to what it holds, and no run has decided again. */
  isRejected?: true;
}

/** What a decision is about: a newer one with the same key takes its place. */
export function keyOfDecision({
  rule,
  subject,
  action,
  target,
}: Pick<StoredDecision, 'rule' | 'subject' | 'action' | 'target'>): string {
  return [rule, subject.kind, subject.id, action, target].join('\u0000');
}

// What a changed rule would match and do over the present fleet, compared with the rule in force. rule-set/ makes it.

export interface TriedRule {
  /** The changed rule. */
  rule: Rule;
  /** When reading the fleet for it began, epoch ms. The fleet was read before that for the rule in force. */
  asOf: number;
  before: TriedCounts;
  after: TriedCounts;
  /** Subjects that only the changed rule matches, and those that only the rule in force matches: `TRIED_MAX` of each at most. */
  added: TriedSubject[];
  addedTotal: number;
  gone: TriedSubject[];
  goneTotal: number;
  /** How many subjects both match. */
  same: number;
  /** The number of subjects that the changed rule cannot judge, by missing fact. */
  unknownBy: { [fact: string]: number };
  /** Why sources that were read are not trusted: then nothing would be done. */
  untrusted: string[];
}

export const TRIED_MAX = 1_000;

/** Subjects by verdict, and decisions. All are 0 for a rule of mode `off`. */
export interface TriedCounts {
  match: number;
  unknown: number;
  error: number;
  act: number;
  hold: number;
  skip: number;
  /** Of those that are skipped: they have not matched for long enough yet; they follow an attempt too closely; and their rule may not act on them at this time. */
  waits: number;
  cools: number;
  outside: number;
}

export interface TriedSubject {
  kind: SubjectKind;
  id: string;
  name: string;
  /** A device's; empty for other kinds. */
  serial: string;
  /** Undefined when the list that was read does not have them. */
  owners: readonly string[] | undefined;
  /** What the changed rule would decide; for a subject that it no longer matches, an undo or nothing. */
  decided: TriedDecision[];
  /** What the rule in force would decide. */
  was: TriedDecision[];
  /** The values behind the match. */
  facts: { [path: string]: Fact };
}

export interface TriedDecision {
  action: ActionName;
  target: string;
  decision: DecisionName;
  reason: ReasonCode;
  reasonText: string;
}
