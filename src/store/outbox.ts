// store: the outbox: notifications that wait for their webhook, and the open alerts. A notification is written in the transaction of
// its event. The result of a delivery is written to the audit in its own transaction.

import type { AuditNote } from '../domain/audit-entry.ts';
import type {
  Alert,
  ClaimedNotification,
  DeliveryEnd,
  FeedClaim,
  FeedPositions,
  Notification,
  NotificationStatus,
  Outbox,
  StoredNotification,
  WaitingNotification,
} from '../domain/notification.ts';
import type { Clock } from '../domain/ports.ts';
import type { NotificationFilter } from '../domain/store-ports.ts';
import { Columns, json } from './columns.ts';
import { type Db, demandRow, readMeta, Where, type Work } from './queries.ts';

/** Ended notifications are kept for this long. The audit keeps a record of them. */
const KEPT_MS = 30 * 86_400_000;

/** The key of a row in `meta`. */
const WATCHED_SINCE = 'watched_since';

const DUE = `SELECT * FROM notifications WHERE status = 'waiting' AND next_at <= ? ORDER BY next_at, id LIMIT ?`;
/** As whoever claimed it left it: a claim is a time of the next attempt. */
const OWN = "id = ? AND status = 'waiting' AND next_at = ?";

const NOTIFICATION = new Columns<WaitingNotification>({
  id: 'id',
  to: 'recipient',
  kind: 'kind',
  at: 'at',
  text: 'text',
  about: json('about'),
  attempts: 'attempts',
});

/** INVARIANT: called inside the transaction of the event that the notification reports. */
export function* addNotification(db: Db, notification: Notification): Work<void> {
  const row = NOTIFICATION.rowOf({ ...notification, attempts: 0 });
  yield* db.insert('notifications', { ...row, status: 'waiting', next_at: notification.at, note: null });
}

/** The store's way to write: one transaction, with audit entries inside. */
export interface Unit {
  run<T>(work: () => Work<T>): Promise<T>;
  append(notes: AuditNote[]): void;
}

export class SqlOutbox implements Outbox {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit,
    private readonly clock: Clock,
  ) {}

  /** Without claiming them. */
  async due(nowMs: number, limit: number): Promise<WaitingNotification[]> {
    return (await this.db.reading(this.db.all(DUE, nowMs, limit))).map(NOTIFICATION.nounOf);
  }

  async claim(nowMs: number, untilMs: number, limit: number): Promise<ClaimedNotification[]> {
    // Most often nothing is due, and reading needs no unit of work.
    if ((await this.due(nowMs, 1)).length === 0) return [];
    return this.unit.run(() => this.claiming(nowMs, untilMs, limit));
  }

  private *claiming(nowMs: number, untilMs: number, limit: number): Work<ClaimedNotification[]> {
    const rows = yield* this.db.all(DUE, nowMs, limit);
    const ids = JSON.stringify(rows.map(({ id }) => id));
    yield* this.db.run(
      'UPDATE notifications SET next_at = ? WHERE id IN (SELECT value FROM json_each(?))',
      untilMs,
      ids,
    );
    return rows.map((row) => ({ ...NOTIFICATION.nounOf(row), claimedUntil: untilMs }));
  }

  async watchedSince(nowMs: number): Promise<number> {
    const { db } = this;
    const found = await db.reading(readMeta(db, WATCHED_SINCE));
    if (found !== undefined) return Number(found);
    return this.unit.run(function* () {
      yield* db.insert('meta', { key: WATCHED_SINCE, value: String(nowMs) }, 'ON CONFLICT DO NOTHING');
      return Number(yield* readMeta(db, WATCHED_SINCE));
    });
  }

  async nextDueAt(): Promise<number | undefined> {
    const sql = "SELECT min(next_at) AS at FROM notifications WHERE status = 'waiting'";
    return (await this.db.reading(this.db.get<{ at: number | null }>(sql)))?.at ?? undefined;
  }

  async giveBack({ id, claimedUntil }: ClaimedNotification, nextAt: number): Promise<void> {
    const sql = `UPDATE notifications SET next_at = ? WHERE ${OWN}`;
    await this.unit.run(() => this.db.run(sql, nextAt, id, claimedUntil));
  }

  async postpone({ id, claimedUntil }: ClaimedNotification, nextAt: number, note: string): Promise<void> {
    const sql = `UPDATE notifications SET attempts = attempts + 1, next_at = ?, note = ? WHERE ${OWN}`;
    await this.unit.run(() => this.db.run(sql, nextAt, note, id, claimedUntil));
  }

  async end(claimed: ClaimedNotification, how: DeliveryEnd, note: string): Promise<void> {
    const { id, to, kind, attempts, claimedUntil } = claimed;
    const { db, unit, clock } = this;
    await unit.run(function* () {
      const set = 'UPDATE notifications SET status = ?, attempts = attempts + 1, note = ? WHERE';
      const ended =
        how === 'delivered'
          ? yield* db.run(`${set} id = ? AND status = 'waiting'`, how, note, id)
          : yield* db.run(`${set} ${OWN}`, how, note, id, claimedUntil);
      if (ended === 0) return;
      const body = { notification: id, to, kind, attempts: attempts + 1, note };
      unit.append([{ kind: how === 'delivered' ? 'notification.delivered' : 'notification.given_up', body }]);
      const over = "DELETE FROM notifications WHERE status <> 'waiting' AND at < ?";
      yield* db.run(over, clock.nowMs() - KEPT_MS);
    });
  }

  async raise(
    alerts: readonly Alert[],
    to: readonly string[],
    newId: () => string,
    waits: (alert: Alert) => boolean = () => false,
  ): Promise<Alert[]> {
    const { fresh, gone } = await this.db.reading(this.changesTo(alerts, waits));
    if (fresh.length === 0 && gone.length === 0) return [];
    // INVARIANT: compared again inside: another one may have raised them while this one waited.
    return this.unit.run(() => this.raising(alerts, to, newId, waits));
  }

  private *raising(
    alerts: readonly Alert[],
    to: readonly string[],
    newId: () => string,
    waits: (alert: Alert) => boolean,
  ): Work<Alert[]> {
    const { fresh, gone } = yield* this.changesTo(alerts, waits);
    const at = this.clock.nowMs();
    for (const key of gone) yield* this.db.run('DELETE FROM alerts WHERE key = ?', key);
    for (const { key, code } of fresh)
      yield* this.db.insert('alerts', { key, code, raised_at: at }, 'ON CONFLICT DO NOTHING');
    for (const alert of fresh)
      for (const name of to) yield* addNotification(this.db, notificationOf(alert, name, newId(), at));
    this.unit.append(
      fresh.map(({ key, code, text }) => ({ kind: 'alert.raised', body: { key, code, text, to: [...to] } })),
    );
    return fresh;
  }

  private *changesTo(alerts: readonly Alert[], waits: (alert: Alert) => boolean): Work<AlertChanges> {
    const reported = new Set((yield* this.db.all<{ key: string }>('SELECT key FROM alerts')).map(({ key }) => key));
    const keys = new Set(alerts.map(({ key }) => key));
    const fresh = alerts.filter((alert) => !reported.has(alert.key) && !waits(alert));
    return { fresh, gone: [...reported].filter((key) => !keys.has(key)) };
  }
}

interface AlertChanges {
  fresh: Alert[];
  gone: string[];
}

/** The newest first. Errors: AppError `usage` when the row that a page follows is gone. */
export function* readNotifications(
  db: Db,
  { statuses, before }: NotificationFilter,
  limit: number,
): Work<StoredNotification[]> {
  const [only] = statuses;
  const where = new Where();
  if (statuses.length === 1) where.add('status = ?', only);
  else where.add("status || '' IN (SELECT value FROM json_each(?))", JSON.stringify(statuses));
  yield* demandRow(db, 'notifications', before);
  where.add('(at, id) < (SELECT at, id FROM notifications WHERE id = ?)', before);
  const sql = `SELECT * FROM notifications ${where.text} ORDER BY at DESC, id DESC LIMIT ?`;
  return (yield* db.all(sql, ...where.values, limit)).map((row) => ({
    ...NOTIFICATION.nounOf(row),
    status: row.status as NotificationStatus,
    nextAt: row.status === 'waiting' ? (row.next_at as number) : undefined,
    note: row.note === null ? undefined : (row.note as string),
  }));
}

function notificationOf({ key, code, text, about }: Alert, to: string, id: string, at: number): Notification {
  return { id, to, kind: 'alert', at, text, about: { ...about, alert: code, key } };
}

// How far each webhook has got in the audit, and which process delivers to it.

const CLAIM = `UPDATE webhook_positions SET saved_at = ?
  WHERE webhook = ? AND seq = ? AND (saved_at <= ? OR saved_at > ?)`;
const SAVE = 'UPDATE webhook_positions SET seq = ?, saved_at = ? WHERE webhook = ? AND seq = ? AND saved_at = ?';

export class SqlFeedPositions implements FeedPositions {
  constructor(
    private readonly db: Db,
    private readonly unit: Pick<Unit, 'run'>,
    private readonly clock: Clock,
  ) {}

  async positionOf(webhook: string): Promise<number | undefined> {
    return (
      await this.db.reading(
        this.db.get<{ seq: number }>('SELECT seq FROM webhook_positions WHERE webhook = ?', webhook),
      )
    )?.seq;
  }

  async beginAt(webhook: string, seq: number): Promise<void> {
    const row = { webhook, seq, saved_at: this.clock.nowMs() };
    await this.unit.run(() => this.db.insert('webhook_positions', row, 'ON CONFLICT DO NOTHING'));
  }

  async claim(webhook: string, seq: number, ms: number): Promise<FeedClaim | undefined> {
    const nowMs = this.clock.nowMs();
    const until = nowMs + ms;
    // One that ends later than this one is of a clock that was set back, and counts no longer.
    const claimed = await this.unit.run(() => this.db.run(CLAIM, until, webhook, seq, nowMs, until));
    return claimed === 0 ? undefined : { webhook, seq, until };
  }

  async savePosition({ webhook, seq: was, until }: FeedClaim, seq: number): Promise<void> {
    await this.unit.run(() => this.db.run(SAVE, seq, this.clock.nowMs(), webhook, was, until));
  }
}
