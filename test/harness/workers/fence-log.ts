// harness: what PostgreSQL itself notes of the leases, by triggers that only the test has: each taking with its fence and holder, the first and
// the last commit of acting by it, its release, and by which fence and connection each `intent.sent` was committed. In: a database. Out: rows.
import type { Cluster } from '../../support/postgres-cluster.ts';
import { SUPERUSER } from '../../support/postgres-cluster.ts';

/** The functions run as their owner, who sees all organizations. Times: epoch ms of the database, which is on the same machine. */
const TRIGGERS = `
CREATE SCHEMA chaos;
CREATE TABLE chaos.fences (
  org text, fence bigint, holder text, taken_at float8, wait_ms bigint, first_commit float8, last_commit float8, released_at float8,
  PRIMARY KEY (org, fence));
CREATE TABLE chaos.sent (org text, seq bigint, fence bigint, is_by_holder boolean, PRIMARY KEY (org, seq));
CREATE FUNCTION chaos.now_ms() RETURNS float8 LANGUAGE sql AS 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000';
CREATE FUNCTION chaos.note_lease() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'INSERT' OR OLD.fence <> NEW.fence THEN
    INSERT INTO chaos.fences VALUES (NEW.org, NEW.fence, NEW.holder, chaos.now_ms(), NEW.wait_ms);
  ELSIF NEW.commits > OLD.commits THEN
    UPDATE chaos.fences SET first_commit = coalesce(first_commit, chaos.now_ms()), last_commit = chaos.now_ms()
    WHERE org = NEW.org AND fence = NEW.fence;
  ELSIF NEW.is_clean AND NOT OLD.is_clean THEN
    UPDATE chaos.fences SET released_at = chaos.now_ms() WHERE org = NEW.org AND fence = NEW.fence;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_notes AFTER INSERT OR UPDATE ON trustward.leases FOR EACH ROW EXECUTE FUNCTION chaos.note_lease();
CREATE FUNCTION chaos.note_sent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO chaos.sent SELECT NEW.org, NEW.seq, fence, backend_pid = pg_backend_pid() AND NOT is_clean
  FROM trustward.leases WHERE org = NEW.org;
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_notes AFTER INSERT ON trustward.audit FOR EACH ROW WHEN (NEW.kind = 'intent.sent')
  EXECUTE FUNCTION chaos.note_sent();`;

export async function addFenceLog(cluster: Cluster, database: string): Promise<void> {
  await cluster.query(TRIGGERS, database, SUPERUSER);
}

export interface Fence {
  org: string;
  fence: number;
  /** Of the process that has it. */
  pid: number;
  takenMs: number;
  waitMs: number;
  firstCommitMs: number | undefined;
  releasedMs: number | undefined;
}

export interface Sent {
  org: string;
  seq: number;
  fence: number;
  /** Committed by the connection that has the lease of this fence. */
  isByHolder: boolean;
  committedMs: number;
  intent: string;
  action: string;
  target: string;
}

/** In the order of their fences, by organization. */
export async function readFences(cluster: Cluster, database: string): Promise<Fence[]> {
  return fencesIn(cluster, database, 'SELECT * FROM chaos.fences ORDER BY org, fence');
}

/** Those that act now, or did when their process ended: at most one of each organization. */
export async function openFences(cluster: Cluster, database: string): Promise<Fence[]> {
  return fencesIn(cluster, database, OPEN);
}

const OPEN = `
SELECT f.* FROM trustward.leases l JOIN chaos.fences f USING (org, fence)
WHERE NOT l.is_clean AND f.first_commit IS NOT NULL ORDER BY f.last_commit DESC`;

async function fencesIn(cluster: Cluster, database: string, statement: string): Promise<Fence[]> {
  const { rows } = await cluster.query(statement, database, SUPERUSER);
  return rows.map((row) => ({
    org: row.org,
    fence: Number(row.fence),
    pid: Number(/(\d+)$/.exec(row.holder)?.[1]),
    takenMs: row.taken_at,
    waitMs: Number(row.wait_ms),
    firstCommitMs: row.first_commit ?? undefined,
    releasedMs: row.released_at ?? undefined,
  }));
}

/** INVARIANT: with `track_commit_timestamp`, the time is that of the commit itself. */
const SENT = `
SELECT a.org, a.seq, s.fence, s.is_by_holder, extract(epoch FROM pg_xact_commit_timestamp(a.xmin))::float8 * 1000 AS committed,
  a.bytes::json->'body' AS body
FROM trustward.audit a LEFT JOIN chaos.sent s USING (org, seq) WHERE a.kind = 'intent.sent' ORDER BY a.org, a.seq`;

export async function readSent(cluster: Cluster, database: string): Promise<Sent[]> {
  const { rows } = await cluster.query(SENT, database, SUPERUSER);
  return rows.map((row) => ({
    org: row.org,
    seq: Number(row.seq),
    fence: Number(row.fence),
    isByHolder: row.is_by_holder === true,
    committedMs: row.committed,
    intent: row.body.intent,
    action: row.body.action,
    target: row.body.target,
  }));
}
