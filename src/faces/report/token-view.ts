// report: a token of the HTTP endpoint as readers see it: times as text, nothing left out but the hash.

import { isoTime } from '../../base/time.ts';
import type { NoticeShown, NotificationShown, TokenShown } from '../../contract/nouns.ts';
import { type EndpointToken, isGood } from '../../domain/endpoint-token.ts';
import type { LiveEvent } from '../../domain/live-event.ts';
import type { StoredNotice } from '../../domain/notice.ts';
import type { StoredNotification } from '../../domain/notification.ts';
import { decisionView, isoOrNull } from './decision-view.ts';
import { auditView } from './lists-text.ts';
import { intentView } from './plan-view.ts';

export function tokenView(token: EndpointToken, nowMs: number): TokenShown {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    createdAt: isoTime(token.createdAt),
    createdBy: token.createdBy,
    expiresAt: isoOrNull(token.expiresAt),
    revokedAt: isoOrNull(token.revokedAt),
    revokedBy: token.revokedBy ?? null,
    usedAt: isoOrNull(token.usedAt),
    good: isGood(token, nowMs),
  };
}

export function notificationView(notification: StoredNotification, nowMs: number): NotificationShown {
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
    lastAnswer: note ?? null,
    about,
  };
}

export function noticeView(notice: StoredNotice): NoticeShown {
  const { id, rule, subject, target, address, aheadMs, status, createdAt, dueAt, deliveredAt, attempts, nextAt, note } =
    notice;
  const { action, device } = notice.content;
  return {
    ...{ id, rule, subject, action, target, device: device.name, to: address },
    stage: aheadMs === 0 ? 'first' : 'reminder',
    status,
    createdAt: isoTime(createdAt),
    dueAt: isoOrNull(dueAt),
    deliveredAt: isoOrNull(deliveredAt),
    attempts,
    nextAttemptAt: status === 'waiting' ? isoTime(nextAt) : null,
    note: note ?? null,
  };
}

/** A record that was removed since is null, and `body` then has what the audit keeps of it. */
export function liveEventView(live: LiveEvent) {
  const { entry, event, isDryRun } = live;
  const { seq, at, kind, hash } = entry;
  const head = { event, seq, at: isoTime(at), kind, hash, dryRun: isDryRun };
  const record = live.event === 'decision' ? live.decision : live.intent;
  const kept = record ? {} : { body: auditView(entry).body };
  if (live.event === 'decision')
    return { ...head, decision: live.decision ? decisionView(live.decision) : null, ...kept };
  const { result, note = null, intent } = live;
  return { ...head, result, note, intent: intent ? intentView(intent) : null, ...kept };
}
