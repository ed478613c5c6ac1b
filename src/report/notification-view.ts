// report: a notification of the outbox as readers see it: its state, its age, and why it was not delivered. In: a
// stored notification and the time. Out: plain data; its texts may hold hostile names: each writer escapes them.
import type { StoredNotification } from '../domain/notification.ts';
import { isoTime } from '../domain/time-text.ts';
import { isoOrNull } from './iso-or-null.ts';

export function notificationView(notification: StoredNotification, nowMs: number) {
  const { id, to, kind, status, at, text, about, attempts, nextAt, note } = notification;
  return {
    id,
    to,
    kind,
    status,
    at: isoTime(at),
    ageSeconds: Math.max(0, Math.floor((nowMs - at) / 1_000)),
    text,
    attempts,
    nextAttemptAt: isoOrNull(nextAt),
    /** The result of the last attempt; null before the first. */
    lastAnswer: note ?? null,
    about,
  };
}
