// store: the statements of leases, on the table `leases`. The time in it is the database's, never a worker's: workers' clocks may differ by
// an hour. In: nothing. Out: SQL.
import { createHash } from 'node:crypto';
import type { Hearing } from '../../domain/lease.ts';

/** As the text of a bigint: a number of JavaScript does not hold it. INVARIANT: two processes of neighbouring versions compute the same. */
export function advisoryKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE().toString();
}

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

// What other processes append to the audits of organizations, as one connection of this process hears it.

/** `kinds`: the first words of the kinds of what was appended; undefined: not known. */
type Heard = (kinds: ReadonlySet<string> | undefined) => void;

/** Listens on `CHANNEL`. */
export class AuditListener implements Hearing {
  private readonly listeners = new Map<string, Set<Heard>>();

  /** Returns what ends it. */
  on(organization: string, listener: Heard): () => void {
    const all = this.listeners.get(organization) ?? new Set();
    this.listeners.set(organization, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.listeners.get(organization) === all) this.listeners.delete(organization);
    };
  }

  heard(payload: string): void {
    const [organization = '', ...kinds] = payload.split(' ');
    const words = new Set(kinds);
    for (const listener of [...(this.listeners.get(organization) ?? [])]) listener(words);
  }

  missed(): void {
    for (const all of [...this.listeners.values()]) for (const listener of [...all]) listener(undefined);
  }
}

// How a process tells others that it appended to the audit of an organization. In: the entries of a commit. Out: one
// notice of PostgreSQL for many commits, a moment later. INVARIANT: not in the transaction of the commit: a transaction
// with a notice commits alone in the whole database, and all units of work would wait for one another. A notice that is
// lost is made up for by whoever listens, who also looks by itself.

export const CHANNEL = 'trustward_audit';
/** Each is the name of an organization and the first words of the kinds of entries: `acme run token`. */
export const TELL = `SELECT pg_notify('${CHANNEL}', value) FROM unnest($1::text[]) AS value`;
const WITHIN_MS = 100;

export class AuditNotices {
  private readonly waiting = new Map<string, Set<string>>();
  private sending: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: (notices: string[]) => Promise<unknown>) {}

  tell(organization: string, notes: readonly { kind: string }[]): void {
    const kinds = this.waiting.get(organization) ?? new Set();
    this.waiting.set(organization, kinds);
    for (const { kind } of notes) kinds.add(kind.split('.')[0] as string);
    this.timer ??= setTimeout(() => void this.flush(), WITHIN_MS);
  }

  /** What waits is sent when this resolves, or lost. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const notices = [...this.waiting].map(([organization, kinds]) => [organization, ...kinds].join(' '));
    this.waiting.clear();
    if (notices.length > 0)
      this.sending = Promise.all([this.sending, this.send(notices)]).then(
        () => {},
        () => {},
      );
    return this.sending;
  }
}
