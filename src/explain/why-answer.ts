// explain: the shape of what is known of one subject: the JSON document of `why`. Times are epoch milliseconds.
import type { ActionName } from '../domain/action.ts';
import type { Claim } from '../domain/claim.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { HistoryLine } from '../domain/history.ts';
import type { Identity } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { Mode } from '../domain/mode.ts';
import type { Stop } from '../domain/operator.ts';
import type { PlanStatus } from '../domain/plan.ts';
import type { Flip, VerdictName } from '../domain/verdict.ts';
import type { DecidedNow } from './judge-subject.ts';
import type { TargetState } from './why-state.ts';

export interface Why {
  subject: Identity;
  /** Other devices of its serial number; the devices of a user. */
  devices: { identity: Identity; states: TargetState[] }[];
  /** When it was read, epoch ms. */
  atMs: number;
  /** Why it could not be read now; undefined: it was. */
  unread: string | undefined;
  states: TargetState[];
  /** Open ones on the subject or its target. */
  claims: Claim[];
  waiting: WaitingIntent[];
  /** Live intents that are not done: under way, in doubt, failed or parked. */
  unfinished: Intent[];
  /** The exemption in force that protects it. */
  exemption: Exemption | undefined;
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
  decisions: DecidedNow[];
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
