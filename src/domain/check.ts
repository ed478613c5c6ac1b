// domain: a check is one safety question about one target: asked by every stage whose list has it, and written once
// (decide/checks/). In: the facts that a stage has gathered. Out: the answer, or undefined to go on to the next one.

import type { SteadyReading } from '../base/time.ts';
import type { ActionName, ActionTraits, Effect, ReadBack } from './action.ts';
import type { WindowNow } from './change-window.ts';
import type { Decision, StoredDecision } from './decision.ts';
import type { ClaimStatus } from './episode.ts';
import type { Exemption } from './exemption.ts';
import type { Fact, Facts } from './facts.ts';
import type { Guard } from './guards.ts';
import type { Intent } from './intent.ts';
import type { NoticeState } from './notice.ts';
import type { Stop } from './operator.ts';
import type { RolloutFacts } from './rollout.ts';
import type { Mode, Rule } from './rule.ts';
import type { FleetDevice } from './subjects.ts';
import type { VerdictName } from './verdict.ts';

/**
 * deciding: about a proposal. preflight: before a call, the target as just read. applying: about an intent of an approved plan, before it is
 * begun. releasing: before a person's undo. retrying: about an intent of which nobody knows what it did.
 */
export const STAGES = ['deciding', 'preflight', 'applying', 'releasing', 'retrying'] as const;
export type Stage = (typeof STAGES)[number];

export const CHECK_NAMES = [
  'stopping',
  'breaker',
  'stopped',
  'frozen',
  'rule-off',
  'rule-changed',
  'not-judged',
  'untrusted-source',
  'older-report',
  'exempt',
  'exemption-unread',
  'already-so',
  'unreadable',
  'target-gone',
  'one-retry',
  'in-doubt',
  'just-done',
  'rejected',
  'overridden',
  'already-acted',
  'over',
  'for-not-reached',
  'cooldown',
  'outside-window',
  'outside-rollout',
  'refused-lately',
  'impossible-target',
  'serial-shared',
  'joined-later',
  'approvers',
  'guarded',
  'last-device',
  'devices-of-a-day',
  'conflict',
  'nothing-to-undo',
  'whole-undo',
  'other-first',
  'newcomers',
  'changed-since',
  'not-proposed',
  'limits',
  'owners',
  'approval-needed',
  'ceiling',
  'undone-anyway',
  'notice-due',
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

/** The answer to a proposal or an intent, and why. */
export type Answer = Pick<Decision, 'decision' | 'reason' | 'reasonText'>;

/** Why it is not done (`skip`), or not now (`hold`). */
export interface Refusal extends Answer {
  decision: 'hold' | 'skip';
}

export function isRefusal(answer: Answer): answer is Refusal {
  return answer.decision !== 'act';
}

export function hold(reason: Refusal['reason'], reasonText: string): Refusal {
  return { decision: 'hold', reason, reasonText };
}

export function skip(reason: Refusal['reason'], reasonText: string): Refusal {
  return { decision: 'skip', reason, reasonText };
}

export interface Check {
  /** The condition under which it answers: one line for people. */
  when: string;
  /** Also asked of a proposal that only lacks a person's approval, since no approval lifts this check. */
  unlifted?: true;
  ask(facts: TargetFacts): Refusal | undefined;
}

/** A refusal, with the check that gave it. */
export interface Refused extends Refusal {
  check: CheckName;
}

/** A run between two whole ones: how many of the targets are those of the last whole run and the runs since, and its number. */
export interface CountedSince {
  targets: number;
  seq: number;
}

/** Asks a stage's checks in their order: the first that answers wins. */
export type Ask = (stage: Stage, facts: TargetFacts) => Refused | undefined;

/** The facts that checks ask about one action on one target. Optional facts are those that some stage cannot know or does not use. */
export interface TargetFacts {
  traits: ActionTraits;
  target: string;
  /** It undoes what Trustward did. */
  undo: boolean;
  /** The matches it is based on: one for a proposal, one or more for an intent. */
  basis: readonly BasisFacts[];
  nowMs: number;

  // Facts about an intent.
  settings?: Facts;
  approved?: boolean;
  released?: boolean;
  /** It was sent, and its effect is not known. */
  isDoubt?: boolean;
  doubtRetries?: number;
  /** The effect that was decided or approved. */
  effect?: Effect;

  // Facts about the target.
  state?: ReadBack['state'];
  /** The target as just read, not as listed. */
  fresh?: ReadBack;
  /** Why the action must not be done to what was just read. */
  refused?: string | undefined;
  /** The serial number that it hits. */
  serial?: { number: string; isPlaceholder: boolean; devices: readonly FleetDevice[]; devicesMax: number } | undefined;
  /** For a user's devices: the user has none, the server does not report them, or the list of devices does not have this one. */
  noDevices?: 'none' | 'unknown' | 'gone' | undefined;
  /** The matched subject's own state; devices of one serial number may differ. */
  isOwnSo?: boolean;
  /** Open claims on it. */
  claims?: readonly ClaimFacts[];
  /** Another intent on it whose effect is not known yet. */
  doubt?: Intent | undefined;
  /** Trustward acted on it just now and it is not in that state: a reversal can be concluded after this time. */
  justDoneMs?: number | undefined;
  /** A list shows it reversed, and its own record could not be read: nobody knows whether a person did that. */
  isUnread?: boolean;
  /** Of an undo: that was so once, and it is as we left it again, by us or by a person. */
  mayBeTheirs?: boolean;

  // People's commands.
  exemption?: Exemption | undefined;
  /** No exemption covers the target, and one is about it now. */
  joined?: Joined | undefined;
  /** Why it could not be read whether one protects the target. */
  exemptionUnread?: string | undefined;
  /** What its approved plan lacks, as `approvals.yaml` asks for it now; undefined: nothing, or it is of no plan. */
  missingYes?: string | undefined;
  /** The guard that is about the target, a device of it or an owner; `unread`: guards are about users, and nobody read who owns the devices. */
  guard?: Guard | 'unread' | undefined;
  /** The owner whose last device it is; `unread`: who owns it, or what else they own, was not read. */
  lastDevice?: { owner: string } | 'unread';
  /** How many devices of this owner would be taken within 24 hours, where that is more than guards allow. */
  devicesOfDay?: { owner: string; devices: number; allowed: number } | 'unread';
  stop?: Stop | undefined;
  /** The change window in force; undefined for a plan that a person let through. */
  freeze?: WindowNow | undefined;

  // How far it may go.
  /** The lowest of its rules' own modes. */
  ownMode?: Mode;
  /** The lowest mode that counts now: that of a person's approval or release, its rules, the run and the daemon. */
  mode?: Mode;
  /** Which of the two has mode `approve`. */
  approver?: 'run' | 'daemon' | undefined;
  isStopping?: boolean;
  failures?: { count: number; max: number };
  /** A mark of the credential in use. */
  credential?: string | undefined;
  /** How many attempts of this action the ceilings allow now. */
  room?: number;
  steady?: SteadyReading;

  // Facts about the other proposals of the run, and about rules that it does not judge.
  rival?: Rival;
  first?: Other | undefined;
  /** For an undo of several claims: why another part of it is not done. */
  otherPart?: Refusal;
  limit?: { targets: number; crossed: string; since?: CountedSince | undefined };
  /** Subjects that its rule newly matched or acted on within 24 hours, with those of this run, if they are more than may be. */
  limitOfDay?: { subjects: number; allowed: number };
  owner?: { name: string; devices: number; since?: CountedSince | undefined };
  /** The list that was read does not show who owns its devices. */
  areOwnersUnread?: boolean;
  undoing?: Other;
}

/** One matched subject of one rule. */
export interface BasisFacts {
  rule: string;
  subjectId: string;
  episodeId: string | undefined;
  /** The rule's current form; undefined: missing or off. */
  ruleNow: Rule | undefined;
  /** The rule's content hash when it was decided. */
  ruleHash: string;
  /** False for a rule that this run does not judge. */
  canJudge?: boolean;
  /** Why one of the rule's sources is not trusted. */
  untrusted?: string | undefined;
  /** Of an undo: the report that no longer matches, and the time that it is measured against. */
  older?: OlderReport | undefined;
  /** The live intent that its episode has already led to. */
  earlier?: Intent | undefined;
  isRejected?: boolean;
  overriddenAt?: number | undefined;
  /** An operator's release is what overrode it. */
  isReleased?: boolean;
  /** Its episode saw the target done, or reversed. */
  wasSeenDone?: boolean;
  /** Its episode is over, and its proposals do not outlive it. */
  isOver?: boolean;
  matchingSince?: number | undefined;
  /** Of a rule that warns first. */
  notice?: NoticeState | undefined;
  /** Absent: its rule has no rollout. */
  rollout?: RolloutFacts | undefined;
  lastAttemptMs?: number | undefined;
  /** The answer of the last run that judged it. */
  said?: StoredDecision | undefined;
  /** The facts of the match. */
  facts?: { [path: string]: Fact };
  /** Its subject's record as just read. */
  record?: Facts | undefined;
  /** The target's state as just read, as far as its subject shows it. */
  state?: string | undefined;
  /** The rule's verdict on that record. */
  verdict?: VerdictName | undefined;
  /** Its subject, as just read, no longer has the target. */
  isPassedOn?: boolean;
}

/** Epoch ms; null: it has no time. `than`: a report that matched, one that was seen since, or the present, which it is ahead of. */
export interface OlderReport {
  path: string;
  ofMs: number | null;
  than: 'matched' | 'seen' | 'now';
  thanMs: number;
}

export interface ClaimFacts {
  rule: string;
  action: ActionName;
  episodeId: string;
  status: ClaimStatus;
  /** Its episode is over: it only waits to be undone. */
  isOver: boolean;
  /** Its subject, as just read, is not in the claimed state. Not known of a target that only lists show. */
  isLost?: boolean;
}

/** An exemption that is about a target now, and did not cover it when it was made. */
export interface Joined {
  exemption: Exemption;
  /** Ids of devices that it covers, and that the action would hit too: they share the serial number. */
  covers: readonly string[];
  /** All that it joined, that one first: an approval counts for those that the plan names. */
  ids: readonly string[];
}

export interface Other {
  rule: string;
  action: ActionName;
}

/** Why it is contrary: `wants`: it would act itself. `is_so`: the target is in its state. `not_judged`: by an earlier run's answer. */
export interface Rival extends Other {
  how: 'wants' | 'is_so' | 'not_judged';
}

// What has changed about the targets of a plan since it was sealed, and why applying it would refuse one now.

/** A field of a subject's record, or a path of the document that would be changed. Without secrets. */
export interface FieldChange {
  subject: string;
  field: string;
  then: Fact;
  now: Fact;
}

/** One intent of a plan, against its target as just read. */
export interface Drift {
  /** The intent's, in its plan. */
  key: string;
  action: ActionName;
  target: string;
  changed: FieldChange[];
  /** Matched subjects whose records are gone. */
  gone: string[];
  /** Why applying the plan would refuse it now: the first check that answers. Undefined: none does. */
  refused: { check: CheckName; reason: string; reasonText: string } | undefined;
  /** Why the target could not be read now; then nothing else is known. */
  unread: string | undefined;
}

/** Targets of one question. */
export const DRIFT_TARGETS_MAX = 25;
