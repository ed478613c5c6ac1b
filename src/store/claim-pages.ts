// store: claims, a page at a time: those in force with their counts, the oldest first; all of a status, the newest first. In: filters, the last
// claim of the page before. Out: a page.
import type { Claim } from '../domain/claim.ts';
import type { ClaimQuery, PageReader } from '../domain/page-reader.ts';
import type { Newest, PagedClaims } from '../domain/record-reader.ts';
import { demandRow } from './demand-row.ts';
import { type Db, ofEach, type Work } from './queries.ts';
import { claimOfRow } from './rows.ts';
import { Where } from './where.ts';

type ClaimCounts = Awaited<ReturnType<PageReader['claimCounts']>>;

const IN_FORCE = ['standing', 'orphaned'] as const;
const COUNT =
  'SELECT status, rule, action, count(*) AS count FROM claims WHERE status = ? GROUP BY status, rule, action ORDER BY rule, action';
const BEFORE = '(opened_at, id) < (SELECT opened_at, id FROM claims WHERE id = ?)';
const AFTER = '(opened_at, id) > (SELECT opened_at, id FROM claims WHERE id = ?)';
/** Two ways to few rows: an index of each. */
const ON = `id IN (SELECT id FROM claims WHERE status = ? AND target IN (SELECT value FROM json_each(?))
  UNION SELECT id FROM claims WHERE status = ? AND subject IN (SELECT value FROM json_each(?)))`;

export function claimsInForce(db: Db, { status, after, limit, ...filter }: ClaimQuery): Work<Newest<Claim>> {
  const statuses = status === undefined ? IN_FORCE : [status];
  const wheres = statuses.map((one) => matching(one, filter));
  return claimPage(db, wheres, { isNewestFirst: false, beyond: after, limit });
}

/** Errors: AppError `usage` when the claim that the page follows is gone. */
export function newestClaims(db: Db, { status, before }: PagedClaims, limit: number): Work<Newest<Claim>> {
  const statuses = status === 'open' ? IN_FORCE : [status];
  const wheres = statuses.map((one) => matching(one, {}));
  return claimPage(db, wheres, { isNewestFirst: true, beyond: before, limit });
}

interface Part {
  isNewestFirst: boolean;
  beyond: string | undefined;
  limit: number;
}

/** One statement for each status: an index has the claims of one status in their order. */
function* claimPage(db: Db, wheres: readonly Where[], { isNewestFirst, beyond, limit }: Part): Work<Newest<Claim>> {
  const sign = isNewestFirst ? -1 : 1;
  const order = isNewestFirst ? 'opened_at DESC, id DESC' : 'opened_at, id';
  return yield* db.snapshot(function* () {
    if (isNewestFirst) yield* demandRow(db, 'claims', beyond);
    const pages: Newest<Claim>[] = [];
    for (const where of wheres) {
      const counted = `SELECT count(*) AS n FROM claims ${where.text}`;
      const total = Number((yield* db.get<{ n: number }>(counted, ...where.values))?.n);
      where.add(isNewestFirst ? BEFORE : AFTER, beyond);
      const sql = `SELECT * FROM claims ${where.text} ORDER BY ${order} LIMIT ?`;
      pages.push({ total, rows: (yield* db.all(sql, ...where.values, limit)).map(claimOfRow) });
    }
    return {
      total: pages.reduce((sum, page) => sum + page.total, 0),
      rows: pages
        .flatMap(({ rows }) => rows)
        .sort((one, other) => sign * (one.openedAt - other.openedAt || (one.id < other.id ? -1 : 1)))
        .slice(0, limit),
    };
  });
}

function matching(
  status: Claim['status'] | undefined,
  { rule, action, on }: Omit<ClaimQuery, 'status' | 'after' | 'limit'>,
): Where {
  const where = new Where();
  where.add('status = ?', status);
  where.add('rule = ?', rule);
  where.add('action = ?', action);
  if (on && status) where.add(ON, status, JSON.stringify(on.targets), status, JSON.stringify(on.subjectIds));
  return where;
}

export function* claimCounts(db: Db): Work<ClaimCounts> {
  return yield* db.snapshot(() => ofEach(IN_FORCE, (status) => db.all<ClaimCounts[number]>(COUNT, status)));
}
