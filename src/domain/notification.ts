// domain: what people are told outside: a notification waits in the outbox until a webhook took it, or it is given up.
import type { Fact, Facts } from './facts.ts';

/** What became of a notification that does not wait any more. */
export type DeliveryEnd = 'delivered' | 'given_up';

export interface Notification {
  /** The delivery id: a receiver that sees it twice got one notification twice. */
  id: string;
  /** The configured webhook's name. */
  to: string;
  /** notify: a rule wishes it. alert: something needs a person. */
  kind: 'notify' | 'alert';
  /** Epoch ms. */
  at: number;
  /** One sentence for people. */
  text: string;
  /** What it is about, as data: stable names, see docs/actions.md. */
  about: { [key: string]: Fact };
}

/** One in the outbox. */
export interface WaitingNotification extends Notification {
  /** Deliveries tried so far. */
  attempts: number;
}

export type NotificationStatus = 'waiting' | DeliveryEnd;

/** One as it is kept: also for a time after its end. */
export interface StoredNotification extends WaitingNotification {
  status: NotificationStatus;
  /** When it is tried again, epoch ms; undefined when it is over. */
  nextAt: number | undefined;
  /** What the last attempt ended with. */
  note: string | undefined;
}

/** A condition that needs a person. NamedReason when it begins, not while it lasts. */
export interface Alert {
  /** Names the condition: the same one has the same key from run to run. */
  key: string;
  code: AlertCode;
  text: string;
  about: Facts;
}

export type AlertCode =
  | 'plan_waits'
  | 'plan_expired'
  | 'parked'
  | 'limit'
  | 'ceiling'
  | 'untrusted'
  | 'silence'
  | 'stopped'
  | 'resumed'
  | 'exemption_ending'
  | 'exemption_unused'
  | 'database';

/** What the store keeps of notifications and alerts. Each method is one unit of work. Errors: AppError `store_failed`. */
export interface Outbox {
  /** Those whose next attempt is due, oldest first. */
  due(nowMs: number, limit: number): Promise<WaitingNotification[]>;
  /** When the next attempt is due, epoch ms; undefined: nothing waits. */
  nextDueAt(): Promise<number | undefined>;
  /** A delivery failed and is to be tried again. */
  postpone(id: string, nextAt: number, note: string): Promise<void>;
  /** It waits no more; the audit says so. */
  end(notification: WaitingNotification, how: DeliveryEnd, note: string): Promise<void>;
  /**
   * The conditions that there are now. Each that is new makes a notification for every name in `to`, in the same transaction;
   * each that is gone is forgotten, so that it is told again when it comes back. `newId` gives delivery ids.
   */
  raise(alerts: readonly Alert[], to: readonly string[], newId: () => string): Promise<Alert[]>;
}
