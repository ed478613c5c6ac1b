// store: what persons asked for, and the answers. Rows to nouns and back. INVARIANT: whether one may be added or answered is asked in the
// transaction that does it: of two answers at once one counts, and the other one names it.

import { DAY_MS, spanText } from '../base/time.ts';
import { AppError } from '../domain/errors.ts';
import {
  demandWaiting,
  type ExemptionRequest,
  REQUEST_WAITS_MS,
  REQUESTS_A_DAY,
  requestStatusAt,
} from '../domain/exemption-request.ts';
import { nameKey } from '../domain/identity.ts';
import type { Newest, RequestQuery } from '../domain/store-ports.ts';
import { Columns } from './columns.ts';
import { newest } from './lists.ts';
import { type Db, type Dialect, type Row, rowByPrefix, Where, type Work } from './queries.ts';

/** Until when it is exempt is read with the exemption. */
const REQUEST = new Columns<Omit<ExemptionRequest, 'exemptUntil'>>({
  id: 'id',
  person: 'person',
  device: 'device',
  serial: 'serial',
  name: 'name',
  rule: 'rule',
  episodeId: 'episode_id',
  reason: 'reason',
  forMs: 'for_ms',
  askedAt: 'asked_at',
  status: 'status',
  answeredAt: 'answered_at',
  answeredBy: 'answered_by',
  sentence: 'sentence',
  exemption: 'exemption_id',
});

function* requestsOf(db: Db, rows: readonly Row[], nowMs: number): Work<ExemptionRequest[]> {
  const ids = JSON.stringify(rows.flatMap((row) => row.exemption_id ?? []));
  const sql =
    'SELECT id, coalesce(ended_at, expires_at) AS until FROM exemptions WHERE id IN (SELECT value FROM json_each(?))';
  const until = new Map((yield* db.all<{ id: string; until: number }>(sql, ids)).map((row) => [row.id, row.until]));
  return rows.map(REQUEST.nounOf).map((request) => ({
    ...request,
    status: requestStatusAt(request, nowMs),
    exemptUntil: until.get(request.exemption ?? ''),
  }));
}

/** Errors: AppError `usage` for a beginning that fits several. */
export function* readRequest(db: Db, idOrPrefix: string, nowMs: number): Work<ExemptionRequest | undefined> {
  const row = yield* rowByPrefix(db, 'exemption_requests', idOrPrefix);
  return row && (yield* requestsOf(db, [row], nowMs))[0];
}

export function* readRequests(
  db: Db,
  { status, person, before, limit }: RequestQuery,
  nowMs: number,
): Work<Newest<ExemptionRequest>> {
  const where = new Where();
  where.add('person = ?', person === undefined ? undefined : nameKey(person));
  where.add('status = ?', status === 'expired' ? 'waiting' : status);
  if (status === 'waiting') where.add('asked_at > ?', nowMs - REQUEST_WAITS_MS);
  if (status === 'expired') where.add('asked_at <= ?', nowMs - REQUEST_WAITS_MS);
  const { rows, total } = yield* newest(db, 'exemption_requests', where, 'asked_at', limit, before);
  return { rows: yield* requestsOf(db, rows, nowMs), total };
}

const WAITING = ({ by }: Dialect) => `SELECT count(*) AS n FROM exemption_requests ${by('exemption_requests_by_status')}
  WHERE status = 'waiting' AND asked_at > ?`;

export function* countWaiting(db: Db, nowMs: number): Work<number> {
  return Number((yield* db.get<{ n: number }>(WAITING(db.dialect), nowMs - REQUEST_WAITS_MS))?.n);
}

/** Of the person, as far back as one that waits can be. */
const RECENT = ({
  by,
}: Dialect) => `SELECT device, status, asked_at FROM exemption_requests ${by('exemption_requests_by_person')}
  WHERE person = ? AND asked_at > ? ORDER BY asked_at`;

interface RecentRow {
  device: string;
  status: string;
  asked_at: number;
}

export function* addRequest(db: Db, request: ExemptionRequest): Work<void> {
  const { person, device, askedAt } = request;
  const recent = yield* db.all<RecentRow>(RECENT(db.dialect), person, askedAt - REQUEST_WAITS_MS);
  if (recent.some((one) => one.status === 'waiting' && one.device === device))
    throw new AppError('conflict', 'you have asked about this device already, and nobody has answered yet');
  const today = recent.filter(({ asked_at }) => asked_at > askedAt - DAY_MS);
  const [first] = today.slice(-REQUESTS_A_DAY);
  if (first && today.length >= REQUESTS_A_DAY) {
    const retryAfterMs = first.asked_at + DAY_MS - askedAt;
    const text = `you have asked ${REQUESTS_A_DAY} times in 24 hours: ask again in ${spanText(retryAfterMs)}`;
    throw new AppError('busy', text, { retryAfterMs });
  }
  yield* db.insert('exemption_requests', REQUEST.rowOf(request));
}

/** Errors: AppError `not_found`, `conflict` when it no longer waits. */
export function* answerRequest(db: Db, answered: ExemptionRequest, nowMs: number): Work<void> {
  const stored = yield* readRequest(db, answered.id, nowMs);
  if (!stored) throw new AppError('not_found', `there is no request \`${answered.id}\``);
  demandWaiting(stored, nowMs);
  yield* db.upsert('exemption_requests', REQUEST.rowOf(answered), 'id');
}
