// domain: the shape of what is known of one subject: the JSON document of `why`. explain makes it; commands and pages show it. Times are
// epoch milliseconds. Names in it are hostile.
import type { ActionName } from './action.ts';
import type { Claim } from './claim.ts';
import type { Exemption } from './exemption.ts';
import type { DecidedNow, ExplainedPart } from './explanation.ts';
import type { Facts } from './facts.ts';
import type { HistoryLine } from './history.ts';
import type { Identity } from './identity.ts';
import type { Intent } from './intent.ts';
import type { Mode } from './mode.ts';
import type { Stop } from './operator.ts';
import type { BreakGlass, PlanStatus } from './plan.ts';
import type { Flip, VerdictName } from './verdict.ts';

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
  /** Every loaded rule about this kind of subject. */
  rules: WhyRule[];
  /** The newest first. */
  history: HistoryLine[];
}

/** An intent of a plan that waits for a person. */
export interface WaitingIntent {
  plan: string;
  status: PlanStatus;
  expiresAt: number;
  action: ActionName;
  target: string;
  rules: string[];
  reasonText: string;
}

export interface WhyRule {
  rule: string;
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
