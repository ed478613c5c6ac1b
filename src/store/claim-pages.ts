// store: the claims in force for pages: counts, and a part at a time, the oldest first. In: a status, the last claim of the page before. Out: a page.
import type { Claim } from '../domain/claim.ts';
import type { PageReader } from '../domain/page-reader.ts';
import type { Newest } from '../domain/record-reader.ts';
import type { Db } from './database.ts';
import { claimOfRow } from './rows.ts';

type ClaimQuery = Parameters<PageReader['claimsInForce']>[0];
type ClaimCounts = Awaited<ReturnType<PageReader['claimCounts']>>;

const IN_FORCE = ['standing', 'orphaned'] as const;
const COUNT = 'SELECT status, action, count(*) AS count FROM claims WHERE status = ? GROUP BY status, action';
const AFTER = 'AND (opened_at, id) > (SELECT opened_at, id FROM claims WHERE id = ?)';

/** One statement for each status: an index has the claims of one status in their order. */
export function claimsInForce(db: Db, { status, after, limit }: ClaimQuery): Newest<Claim> {
  const statuses: readonly Claim['status'][] = status === undefined ? IN_FORCE : [status];
  const sql = `SELECT * FROM claims WHERE status = ? ${after === undefined ? '' : AFTER} ORDER BY opened_at, id LIMIT ?`;
  const values = after === undefined ? [limit] : [after, limit];
  const counted = 'SELECT count(*) AS n FROM claims WHERE status = ?';
  return db.snapshot(() => ({
    total: statuses.reduce((sum, one) => sum + Number(db.get<{ n: number }>(counted, one)?.n), 0),
    rows: statuses
      .flatMap((one) => db.all(sql, one, ...values).map(claimOfRow))
      .sort((one, other) => one.openedAt - other.openedAt || (one.id < other.id ? -1 : 1))
      .slice(0, limit),
  }));
}

export function claimCounts(db: Db): ClaimCounts {
  return db.snapshot(() => IN_FORCE.flatMap((status) => db.all<ClaimCounts[number]>(COUNT, status)));
}
