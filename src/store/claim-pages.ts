// store: the claims in force for pages: counts, and a part at a time, the oldest first. In: filters, the last claim of the page before. Out: a page.
import type { Claim } from '../domain/claim.ts';
import type { ClaimQuery, PageReader } from '../domain/page-reader.ts';
import type { Newest } from '../domain/record-reader.ts';
import { type Db, ofEach, type Work } from './queries.ts';
import { claimOfRow } from './rows.ts';
import { Where } from './where.ts';

type ClaimCounts = Awaited<ReturnType<PageReader['claimCounts']>>;

const IN_FORCE = ['standing', 'orphaned'] as const;
const COUNT =
  'SELECT status, rule, action, count(*) AS count FROM claims WHERE status = ? GROUP BY status, rule, action ORDER BY rule, action';
const AFTER = '(opened_at, id) > (SELECT opened_at, id FROM claims WHERE id = ?)';
/** Two ways to few rows: an index of each. */
const ON = `id IN (SELECT id FROM claims WHERE status = ? AND target IN (SELECT value FROM json_each(?))
  UNION SELECT id FROM claims WHERE status = ? AND subject IN (SELECT value FROM json_each(?)))`;

/** One statement for each status: an index has the claims of one status in their order. */
export function* claimsInForce(db: Db, { status, after, limit, ...filter }: ClaimQuery): Work<Newest<Claim>> {
  const statuses: readonly Claim['status'][] = status === undefined ? IN_FORCE : [status];
  return yield* db.snapshot(function* () {
    const pages: Newest<Claim>[] = [];
    for (const one of statuses) {
      const where = matching(one, filter);
      const counted = `SELECT count(*) AS n FROM claims ${where.text}`;
      const total = Number((yield* db.get<{ n: number }>(counted, ...where.values))?.n);
      where.add(AFTER, after);
      const sql = `SELECT * FROM claims ${where.text} ORDER BY opened_at, id LIMIT ?`;
      pages.push({ total, rows: (yield* db.all(sql, ...where.values, limit)).map(claimOfRow) });
    }
    return {
      total: pages.reduce((sum, page) => sum + page.total, 0),
      rows: pages
        .flatMap(({ rows }) => rows)
        .sort((one, other) => one.openedAt - other.openedAt || (one.id < other.id ? -1 : 1))
        .slice(0, limit),
    };
  });
}

function matching(
  status: Claim['status'],
  { rule, action, on }: Omit<ClaimQuery, 'status' | 'after' | 'limit'>,
): Where {
  const where = new Where();
  where.add('status = ?', status);
  where.add('rule = ?', rule);
  where.add('action = ?', action);
  if (on) where.add(ON, status, JSON.stringify(on.targets), status, JSON.stringify(on.subjectIds));
  return where;
}

export function* claimCounts(db: Db): Work<ClaimCounts> {
  return yield* db.snapshot(() => ofEach(IN_FORCE, (status) => db.all<ClaimCounts[number]>(COUNT, status)));
}
