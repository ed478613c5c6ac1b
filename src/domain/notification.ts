// domain: messages to people outside: a notification waits in the outbox until a webhook accepts it or its delivery fails for good.
import type { Fact, Facts } from './facts.ts';

/** How a notification's delivery ended. */
export type DeliveryEnd = 'delivered' | 'given_up';

/** notify: a rule proposed it. alert: something needs a person. */
export const NOTIFICATION_KINDS = ['notify', 'alert'] as const;

export interface Notification {
  /** The delivery id: a receiver that sees it twice received one notification twice. */
  id: string;
  /** The configured webhook's name. */
  to: string;
  kind: (typeof NOTIFICATION_KINDS)[number];
  /** Epoch ms. */
  at: number;
  /** One sentence for people. */
  text: string;
  /** Its content as data with stable names: see docs/actions.md. */
  about: { [key: string]: Fact };
}

/** The page of its plan or subject; added when it is delivered. */
export interface LinkedNotification extends Notification {
  link?: string | undefined;
}

/** A notification in the outbox. */
export interface WaitingNotification extends Notification {
  /** Deliveries attempted so far. */
  attempts: number;
}

/** One that this process delivers: nobody else attempts it before its claim ends, as it does by itself when the process dies. */
export interface ClaimedNotification extends WaitingNotification {
  /** Epoch ms. */
  claimedUntil: number;
}

export const NOTIFICATION_STATUSES = ['waiting', 'given_up', 'delivered'] as const satisfies readonly (
  | 'waiting'
  | DeliveryEnd
)[];
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

/** A stored notification, kept for some time after its end. */
export interface StoredNotification extends WaitingNotification {
  status: NotificationStatus;
  /** Time of the next attempt, epoch ms; undefined when delivery has ended. */
  nextAt: number | undefined;
  /** The result of the last attempt. */
  note: string | undefined;
}

/** A condition that needs a person. Reported when it begins, not while it lasts. */
export interface Alert {
  /** Names the condition: the same one has the same key in every run. */
  key: string;
  code: AlertCode;
  text: string;
  about: Facts;
}

export type AlertCode =
  | 'plan_waits'
  | 'plan_still_waits'
  | 'plan_expired'
  | 'parked'
  | 'refused'
  | 'limit'
  | 'ceiling'
  | 'untrusted'
  | 'silence'
  | 'stopped'
  | 'resumed'
  | 'break_glass'
  | 'flap'
  | 'rollout_braked'
  | 'rules_returned'
  | 'exemption_ending'
  | 'exemption_unused'
  | 'exemption_joined'
  | 'notice_undelivered'
  | 'exemption_requested'
  | 'backup'
  | 'history'
  | 'database'
  | 'facts_failing'
  | 'facts_stale'
  | 'facts_back'
  | 'webhook_behind'
  | 'signals_behind'
  | 'signals_silent';

/** The right to deliver to a webhook what follows `seq`, which ends by itself. */
export interface FeedClaim {
  webhook: string;
  seq: number;
  /** Epoch ms. */
  until: number;
}

/**
 * How far each webhook that receives decisions and outcomes has got in the audit. Several processes may deliver: one at a time has the claim.
 * Errors: AppError `store_failed`.
 */
export interface FeedPositions {
  /** The number of the last entry that it needs no more; undefined for a new one. */
  positionOf(webhook: string): Promise<number | undefined>;
  /** Of a new webhook; one that has a position keeps it. */
  beginAt(webhook: string, seq: number): Promise<void>;
  /** For `ms`. Undefined: another process has it, or the position is no longer `seq`. */
  claim(webhook: string, seq: number, ms: number): Promise<FeedClaim | undefined>;
  /** Gives the claim back; `seq` may be its own. Nothing changes when it is another's by now: a position never goes backwards. */
  savePosition(claim: FeedClaim, seq: number): Promise<void>;
}

/**
 * What the store keeps of notifications and alerts. Each method is one unit of work. Errors: AppError `store_failed`.
 */
export interface Outbox {
  /** Those whose next attempt is due, oldest first: they are this process's to deliver until `untilMs`. */
  claim(nowMs: number, untilMs: number, limit: number): Promise<ClaimedNotification[]>;
  /** When somebody first asked this: silence is counted from then where nothing else is recorded. Epoch ms. */
  watchedSince(nowMs: number): Promise<number>;
  /** When the next attempt is due, epoch ms; undefined: nothing waits. */
  nextDueAt(): Promise<number | undefined>;
  /** It was not attempted to its end: it is due at `nextAt`, to anybody. Nothing changes when the claim is another's by now. */
  giveBack(claimed: ClaimedNotification, nextAt: number): Promise<void>;
  /** A delivery failed and will be attempted again. Nothing changes when the claim is another's by now. */
  postpone(claimed: ClaimedNotification, nextAt: number, note: string): Promise<void>;
  /**
   * Delivery has ended; the audit records it. Nothing changes when another process ended it. What was delivered is delivered, whoever has the
   * claim by now; only who has it gives up.
   */
  end(claimed: ClaimedNotification, how: DeliveryEnd, note: string): Promise<void>;
  /**
   * The conditions that exist now. Each new one makes a notification for every name in `to`, in the same transaction.
   * Each ended one is forgotten, so that it is reported again when it returns. `newId` gives delivery ids. `waits`: a new one stays new.
   */
  raise(
    alerts: readonly Alert[],
    to: readonly string[],
    newId: () => string,
    waits?: (alert: Alert) => boolean,
  ): Promise<Alert[]>;
}
