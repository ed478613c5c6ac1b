// store: notices: messages to people before something of theirs is acted on. A run writes them with what it decided; each attempt to send one is
// committed before it, and its end after it, with their audit entries. INVARIANT: nothing here makes a deadline earlier.

import { timeText } from '../base/time.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import {
  AHEAD_MAX_MS,
  type ClaimedNotice,
  type EndedNotices,
  IN_DOUBT,
  type MessageEnd,
  type NewNotice,
  NO_MAILER,
  type Notice,
  type NoticeBox,
  type NoticeFilter,
  type NoticeSending,
  noticesByEpisode,
  type StoredNotice,
} from '../domain/notice.ts';
import type { Clock } from '../domain/ports.ts';
import type { Newest } from '../domain/store-ports.ts';
import { Columns, json, members } from './columns.ts';
import { newest } from './lists.ts';
import { readStop } from './operator.ts';
import type { Unit } from './outbox.ts';
import { type Db, type Row, type Value, Where, type Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

const FIELDS = {
  id: 'id',
  episodeId: 'episode_id',
  rule: 'rule',
  subject: members({ kind: 'kind', id: 'subject' }),
  target: 'target',
  address: 'address',
  print: 'print',
  round: 'round',
  beforeMs: 'before_ms',
  aheadMs: 'ahead_ms',
  status: 'status',
  createdAt: 'created_at',
  dueAt: 'due_at',
  until: 'until',
  deliveredAt: 'delivered_at',
  attempts: 'attempts',
  nextAt: 'next_at',
  note: 'note',
} as const;
const NOTICE = new Columns<Notice>(FIELDS);
const NEW_NOTICE = new Columns<NewNotice>({ ...FIELDS, content: json('content'), remindMs: json('remind') });

/** Of open episodes, or of these of them; by episode. */
export function* readOpenNotices(db: Db, episodes?: readonly string[]): Work<ReadonlyMap<string, readonly Notice[]>> {
  const some = episodes ? 'AND episode_id IN (SELECT value FROM json_each(?))' : '';
  const sql = `SELECT ${NOTICE.names.join(', ')} FROM notices WHERE open = 1 ${some} ORDER BY id`;
  const rows = yield* db.all(sql, ...(episodes ? [JSON.stringify(episodes)] : []));
  return noticesByEpisode(rows.map(NOTICE.nounOf));
}

/** INVARIANT: called inside the transaction of the run, whose notes have them. */
export function* saveNotices(
  db: Db,
  { begun, ended }: { begun: readonly NewNotice[]; ended: readonly EndedNotices[] },
): Work<void> {
  for (const { ids, status, isClosed } of ended) {
    for (const id of ids) {
      // What is being sent ends by itself.
      if (status) yield* change(db, id, "status = ? WHERE id = ? AND status <> 'sending'", status, id);
      if (isClosed) yield* change(db, id, 'open = 0 WHERE id = ?', id);
    }
  }
  for (const notice of begun) yield* add(db, notice);
}

function* add(db: Db, notice: NewNotice): Work<void> {
  const added = yield* db.insert('notices', { ...NEW_NOTICE.rowOf(notice), open: 1 }, 'ON CONFLICT DO NOTHING');
  if (added > 0) yield* note(db, 'added', notice.id);
}

/** `set`: what follows SET. */
function* change(db: Db, id: string, set: string, ...values: Value[]): Work<number> {
  yield* note(db, 'removed', id);
  const changed = yield* db.run(`UPDATE notices SET ${set}`, ...values);
  yield* note(db, 'added', id);
  return changed;
}

/** Where no trigger follows this table. */
function* note(db: Db, is: 'removed' | 'added', id: string): Work<void> {
  const { noteChange } = db.dialect;
  if (noteChange) yield* db.run(noteChange('notices', is, 'id'), id);
}

/** Of episodes that are removed. */
export function* removeNotices(db: Db, episodes: string): Work<void> {
  const sql = 'SELECT id FROM notices WHERE episode_id IN (SELECT value FROM json_each(?))';
  for (const { id } of yield* db.all<{ id: string }>(sql, episodes)) {
    yield* note(db, 'removed', id);
    yield* db.run('DELETE FROM notices WHERE id = ?', id);
  }
}

/** Of a record that lacks what was done since: each may have been sent. */
export function* doubtNotices(db: Db, why: string): Work<void> {
  const sql = "SELECT id FROM notices WHERE status IN ('waiting', 'sending')";
  for (const { id } of yield* db.all<{ id: string }>(sql))
    yield* change(db, id, "status = 'doubt', note = ? WHERE id = ?", `whether it was sent is not known: ${why}`, id);
}

/** Also an attempt that the clock had set for a time that it is far from again. */
const DUE = `FROM notices WHERE status IN ('waiting', 'sending') AND (next_at <= ? OR ahead_ms = 0 AND next_at > ?)`;

export class SqlNotices implements NoticeBox {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit,
    private readonly clock: Clock,
  ) {}

  async claim(nowMs: number, untilMs: number, limit: number, by: NoticeSending = {}): Promise<ClaimedNotice[]> {
    // Most often nothing is due, and reading needs no unit of work.
    const [due, stop] = await this.db.reading(this.dueNow(nowMs, 1, by));
    if (due.length === 0 || (stop && due.every(({ status }) => status === 'waiting'))) return [];
    return this.unit.run(() => this.claiming(nowMs, untilMs, limit, by));
  }

  private *dueNow(nowMs: number, limit: number, by: NoticeSending): Work<[rows: Row[], isStopped: boolean]> {
    const unmarked = by.hasNoMailer ? `AND (status = 'sending' OR ahead_ms = 0 AND coalesce(note, '') <> ?)` : '';
    // One that was being sent goes first.
    const rows = yield* this.db.all(
      `SELECT * ${DUE} ${unmarked} ORDER BY status, next_at, id LIMIT ?`,
      ...[nowMs, nowMs + AHEAD_MAX_MS, ...(by.hasNoMailer ? [NO_MAILER] : []), limit],
    );
    return [rows, (yield* readStop(this.db)) !== undefined];
  }

  private *claiming(nowMs: number, untilMs: number, limit: number, by: NoticeSending): Work<ClaimedNotice[]> {
    const [rows, isStopped] = yield* this.dueNow(nowMs, limit, by);
    const { freeFrom = (_, atMs) => atMs } = by;
    const claimed: ClaimedNotice[] = [];
    for (const row of rows) {
      const notice = NEW_NOTICE.nounOf(row);
      if (notice.status === 'sending') yield* this.finish(notice, 'doubt', IN_DOUBT);
      else if (isStopped) continue;
      else if (by.hasNoMailer) yield* this.marked(notice);
      else if (yield* this.isPostponed(notice, freeFrom(notice.rule, notice.dueAt ?? 0), nowMs)) continue;
      else if (notice.aheadMs > 0 && (yield* this.isLate(notice, nowMs)))
        yield* this.finish(notice, 'cancelled', 'it came too late to be of use');
      else if (notice.until !== undefined && nowMs >= notice.until)
        yield* this.finish(notice, 'refused', `it was not delivered by the deadline: ${notice.note ?? ''}`);
      else {
        const { rule, aheadMs, beforeMs, dueAt = 0 } = notice;
        const named = aheadMs > 0 ? dueAt : freeFrom(rule, Math.max(dueAt, nowMs + beforeMs));
        claimed.push(yield* this.sending(notice, named, untilMs));
      }
    }
    return claimed;
  }

  /** What was attempted before has a new deadline, too: it is attempted until that. */
  private *marked(notice: Notice): Work<void> {
    yield* change(this.db, notice.id, 'note = ?, until = NULL WHERE id = ?', NO_MAILER, notice.id);
    this.unit.append([failedNote(notice, 'not_sent', NO_MAILER)]);
  }

  /** A reminder says when it acts: where that became a time at which it will not act, all that is to be said of it moves with the deadline. */
  private *isPostponed(notice: Notice, dueAt: number, nowMs: number): Work<boolean> {
    const { episodeId, address, round, aheadMs, dueAt: told = 0 } = notice;
    if (aheadMs === 0 || dueAt <= told || dueAt <= nowMs) return false;
    const rows = yield* this.db.all<{ id: string; ahead_ms: number }>(
      "SELECT id, ahead_ms FROM notices WHERE episode_id = ? AND address = ? AND round = ? AND (ahead_ms = 0 OR status = 'waiting')",
      ...[episodeId, address, round],
    );
    for (const { id, ahead_ms: ahead } of rows) {
      if (ahead === 0) yield* change(this.db, id, 'due_at = ? WHERE id = ?', dueAt, id);
      else
        yield* change(this.db, id, 'due_at = ?, until = ?, next_at = ? WHERE id = ?', dueAt, dueAt, dueAt - ahead, id);
    }
    this.unit.append([failedNote(notice, 'postponed', `it acts not before ${timeText(dueAt)}`)]);
    return true;
  }

  /** The deadline has passed, or a later reminder is due. */
  private *isLate({ episodeId, address, round, aheadMs, dueAt = 0 }: Notice, nowMs: number): Work<boolean> {
    const later = yield* this.db.get(
      'SELECT 1 FROM notices WHERE episode_id = ? AND address = ? AND round = ? AND ahead_ms > 0 AND ahead_ms < ? AND next_at <= ?',
      ...[episodeId, address, round, aheadMs, nowMs],
    );
    return nowMs >= dueAt || later !== undefined;
  }

  /** INVARIANT: committed before anything is handed over. */
  private *sending(notice: NewNotice, dueAt: number, untilMs: number): Work<ClaimedNotice> {
    const { id, attempts, until = dueAt } = notice;
    const set = "status = 'sending', attempts = attempts + 1, next_at = ?, due_at = ?, until = ? WHERE id = ?";
    yield* change(this.db, id, set, untilMs, dueAt, until, id);
    const now: ClaimedNotice = { ...notice, status: 'sending', attempts: attempts + 1, nextAt: untilMs, dueAt, until };
    this.unit.append([{ kind: 'notice.sending', body: { ...aboutOf(now), attempt: now.attempts, dueAt } }]);
    return now;
  }

  async nextDueAt(): Promise<number | undefined> {
    const isStopped = (await this.db.reading(readStop(this.db))) !== undefined;
    const which = isStopped ? "status = 'sending'" : "status IN ('waiting', 'sending')";
    const sql = `SELECT min(next_at) AS at FROM notices WHERE ${which}`;
    return (await this.db.reading(this.db.get<{ at: number | null }>(sql)))?.at ?? undefined;
  }

  async end(claimed: ClaimedNotice, how: MessageEnd, nextAt: number, newId: () => string): Promise<void> {
    await this.unit.run(() => this.ending(claimed, how, nextAt, newId));
  }

  private *ending(claimed: ClaimedNotice, end: MessageEnd, nextAt: number, newId: () => string): Work<void> {
    const row = yield* this.db.get('SELECT * FROM notices WHERE id = ?', claimed.id);
    if (!row) return;
    const notice = NEW_NOTICE.nounOf(row);
    const isOurs = notice.status === 'sending' && notice.nextAt === claimed.nextAt;
    // What was delivered is delivered, also when it was given up for in doubt meanwhile.
    if (!isOurs && !(end.how === 'delivered' && notice.status === 'doubt')) return;
    if (end.how === 'delivered') return yield* this.delivered(notice, row.open === 1, newId);
    if (end.how !== 'not_sent') return yield* this.finish(notice, end.how, end.why);
    const set = "status = 'waiting', next_at = ?, note = ? WHERE id = ?";
    yield* change(this.db, notice.id, set, Math.min(nextAt, notice.until ?? nextAt), end.why, notice.id);
    this.unit.append([failedNote(notice, 'not_sent', end.why)]);
  }

  private *delivered(notice: NewNotice, isOpen: boolean, newId: () => string): Work<void> {
    const nowMs = this.clock.nowMs();
    const { id, aheadMs, beforeMs, dueAt: told = 0 } = notice;
    const dueAt = aheadMs > 0 ? told : Math.max(told, nowMs + beforeMs);
    const set = "status = 'delivered', delivered_at = ?, due_at = ?, note = NULL WHERE id = ?";
    yield* change(this.db, id, set, nowMs, dueAt, id);
    this.unit.append([{ kind: 'notice.delivered', body: { ...aboutOf(notice), attempts: notice.attempts, dueAt } }]);
    if (aheadMs > 0 || !isOpen) return;
    const reminder: NewNotice = { ...notice, status: 'waiting', createdAt: nowMs, dueAt, until: dueAt, attempts: 0 };
    for (const ms of notice.remindMs) {
      const own = { aheadMs: ms, nextAt: dueAt - ms, deliveredAt: undefined, note: undefined };
      yield* add(this.db, { ...reminder, ...own, id: newId() });
    }
  }

  private *finish(notice: Notice, status: 'doubt' | 'refused' | 'cancelled', why: string): Work<void> {
    yield* change(this.db, notice.id, 'status = ?, note = ? WHERE id = ?', status, why, notice.id);
    this.unit.append([failedNote(notice, status, why)]);
  }
}

function aboutOf({ id, episodeId, rule, subject, target, address, aheadMs }: Notice) {
  const stage = aheadMs === 0 ? 'first' : 'reminder';
  return { notice: id, episode: episodeId, rule, subject: { ...subject }, target, to: address, stage };
}

function failedNote(notice: Notice, how: string, why: string): AuditNote {
  return { kind: 'notice.failed', body: { ...aboutOf(notice), how, why, attempt: notice.attempts } };
}

/** The newest first. Errors: AppError `usage` when the row that a page follows is gone. */
export function* readNotices(
  db: Db,
  { statuses, subjectId, address, before }: NoticeFilter,
  limit: number,
): Work<Newest<StoredNotice>> {
  const where = new Where();
  where.add('status IN (SELECT value FROM json_each(?))', statuses && JSON.stringify(statuses));
  where.add('subject = ?', subjectId);
  where.add('address = ?', address?.toLowerCase());
  const { rows, total } = yield* newest(db, 'notices', where, 'created_at', limit, before);
  return { rows: rows.map((row) => ({ ...NOTICE.nounOf(row), content: storedJson(row.content) })), total };
}
