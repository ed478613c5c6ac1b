// store: the statements of leases, on the table `leases`. The time in it is the database's, never a worker's: workers' clocks may differ by
// an hour. In: nothing. Out: SQL.
import { advisoryKey } from './advisory-key.ts';

/**
 * Takes the lock and writes who has it, in one statement: whoever finds the lock taken finds its holder in the row, wherever a process
 * was paused or killed. INVARIANT: the lock is asked for once (`MATERIALIZED`), since a session could take it twice.
 * $1 organization, $2 key, $3 holder, $4 lease. A row: it is taken.
 */
export const TAKE = `
WITH lock AS MATERIALIZED (SELECT pg_try_advisory_lock($2::bigint) AS got)
INSERT INTO trustward.leases AS l
  (org, fence, holder, backend_pid, backend_start, beaten_at, lease_ms, wait_ms, is_clean, commits)
SELECT $1, 1, $3, pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
  clock_timestamp(), $4::bigint, 0, false, 0
FROM lock WHERE got
ON CONFLICT (org) DO UPDATE SET
  fence = l.fence + 1,
  holder = excluded.holder,
  backend_pid = excluded.backend_pid,
  backend_start = excluded.backend_start,
  beaten_at = clock_timestamp(),
  wait_ms = CASE WHEN l.is_clean THEN 0 ELSE greatest(l.lease_ms, excluded.lease_ms) END,
  lease_ms = excluded.lease_ms,
  is_clean = false
RETURNING fence::text, wait_ms::text, commits::text`;

/** The session that has a lock. */
function heldBy(key: string): string {
  return `SELECT k.pid FROM pg_locks k
    WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted
      AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((k.classid::bigint << 32) | k.objid::bigint) = ${key}::bigint`;
}

/** A row: somebody acts for the organization now, or will when its wait is over. $1 key. */
export const IS_HELD = heldBy('$1');

/**
 * Who has the lock, when it was not free; a holder that gave no sign of life for its lease is ended. A statement in a long transaction is
 * a sign of life too. INVARIANT: a session is ended only if it began when the recorded one did: a number of a process is used again.
 * $1 organization, $2 key.
 */
export const END_STALE = `
WITH held AS MATERIALIZED (
  SELECT l.holder, l.fence, a.pid, extract(epoch FROM clock_timestamp() - greatest(l.beaten_at, a.state_change)) * 1000 AS silent_ms,
    l.lease_ms
  FROM trustward.leases l
  LEFT JOIN pg_stat_activity a
    ON a.pid = l.backend_pid AND a.backend_start = l.backend_start AND a.datname = current_database()
  WHERE l.org = $1)
SELECT holder, fence::text, floor(silent_ms)::text AS silent_ms,
  CASE WHEN silent_ms > lease_ms THEN pg_terminate_backend(pid) END AS is_ended,
  (${heldBy('$2')}) AS lock_pid,
  pid
FROM held`;

/**
 * INVARIANT: the session is asked for as well: behind a pooler that gives each transaction another one, the lock would be that of nobody.
 * $1 organization, $2 fence. No row: somebody else may act by now.
 */
const OWN = 'org = $1 AND fence = $2::bigint AND backend_pid = pg_backend_pid() AND NOT is_clean';
export const BEAT = `UPDATE trustward.leases SET beaten_at = clock_timestamp() WHERE ${OWN} RETURNING 1`;
/** The first statement of each transaction of acting: it is a heartbeat too. */
export const ASSERT_FENCE = `UPDATE trustward.leases SET beaten_at = clock_timestamp(), commits = commits + 1 WHERE ${OWN} RETURNING commits::text`;
export const RELEASE = `UPDATE trustward.leases SET is_clean = true WHERE ${OWN} RETURNING 1`;

/** Who has it or had it last. $1 organization. */
export const LOOK = `
  SELECT holder, is_clean, floor(extract(epoch FROM clock_timestamp() - beaten_at) * 1000)::float8 AS silent_ms, lease_ms::float8 AS lease_ms
  FROM trustward.leases WHERE org = $1`;

/** The key of the lock of an organization. */
export function lockKeyOf(organization: string): string {
  return advisoryKey(`trustward acts for ${organization}`);
}
