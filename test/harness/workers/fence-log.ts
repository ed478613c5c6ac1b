// harness: the leases as PostgreSQL's own log has them: each taking with its fence and holder, each commit of acting by it, and by which fence each
// `intent.sent` was committed. In: a database. Out: these, with the times of their commits. Nothing is added to the tables: Trustward would notice.
import { type Cluster, SUPERUSER } from '../../support/postgres-cluster.ts';

const SLOT = 'chaos';
/** INVARIANT: the log is decoded, and the record is compared with what the consoles saw, by the times of the commits. */
export const SETTINGS_OF_LOG = { wal_level: 'logical', max_slot_wal_keep_size: -1 };

/** From now on, everything is kept until it is read; a kill of PostgreSQL loses nothing of it. */
export async function beginFenceLog(cluster: Cluster, database: string): Promise<void> {
  await cluster.query(`SELECT pg_create_logical_replication_slot('${SLOT}', 'test_decoding')`, database, SUPERUSER);
}

/** Times: epoch ms of the database, which is on the same machine. */
export interface Fence {
  org: string;
  fence: number;
  /** Of the process that has it. */
  pid: number;
  takenMs: number;
  /** 0: the one before it had released. */
  waitMs: number;
  firstCommitMs: number | undefined;
}

export interface Sent {
  org: string;
  seq: number;
  /** Undefined: its transaction checked no fence. */
  fence: number | undefined;
  committedMs: number;
  intent: string;
  action: string;
  target: string;
}

export interface FenceLog {
  /** In their order, by organization. */
  fences: Fence[];
  /** In the order of their commits. */
  sent: Sent[];
}

const CHANGES = `
SELECT data FROM pg_logical_slot_get_changes('${SLOT}', NULL, NULL, 'include-timestamp', '1')
WHERE data ~ '^(COMMIT|table trustward.leases: (INSERT|UPDATE)|table trustward.audit: INSERT.* kind\\[text\\]:''intent.sent'')'`;
const LEASE =
  /^table trustward\.leases: \w+: org\[text\]:'([^']*)' fence\[bigint\]:(\d+) holder\[text\]:'[^']* (\d+)' .* wait_ms\[bigint\]:(\d+) is_clean\[boolean\]:(\w+) commits\[bigint\]:(\d+)/;
const SENT = /^table trustward\.audit: INSERT: org\[text\]:'([^']*)' seq\[bigint\]:(\d+) /;
const COMMIT = /^COMMIT \d+ \(at (.*)\)$/;

/** Ends the log: it is read once. */
export async function readFenceLog(cluster: Cluster, database: string): Promise<FenceLog> {
  const reading = new Reading(await bodiesOf(cluster, database));
  const { rows } = await cluster.query(CHANGES, database, SUPERUSER);
  for (const { data } of rows as { data: string }[]) reading.take(data);
  return { fences: [...reading.fences.values()], sent: reading.sent };
}

type Body = Pick<Sent, 'intent' | 'action' | 'target'>;

async function bodiesOf(cluster: Cluster, database: string): Promise<Map<string, Body>> {
  const all = `SELECT org, seq, bytes::json->'body' AS body FROM trustward.audit WHERE kind = 'intent.sent'`;
  const { rows } = await cluster.query(all, database, SUPERUSER);
  return new Map(rows.map(({ org, seq, body }) => [`${org} ${seq}`, body as Body]));
}

class Reading {
  readonly fences = new Map<string, Fence>();
  readonly sent: Sent[] = [];
  private readonly commits = new Map<string, number>();
  /** Of the transaction that is being read. */
  private leases: RegExpExecArray[] = [];
  private entries: RegExpExecArray[] = [];

  constructor(private readonly bodies: ReadonlyMap<string, Body>) {}

  take(line: string): void {
    const lease = LEASE.exec(line);
    const entry = SENT.exec(line);
    const commit = COMMIT.exec(line);
    if (lease) this.leases.push(lease);
    else if (entry) this.entries.push(entry);
    else if (commit) this.end(Date.parse((commit[1] as string).replace(/\+(\d\d)$/, '+$1:00')));
    else throw new Error(`the log of PostgreSQL has a line that is not understood: ${line}`);
  }

  private end(atMs: number): void {
    /** By organization: whose fence this transaction checked. */
    const checked = new Map<string, number>();
    for (const [, org = '', number, pid, waitMs, , commits] of this.leases) {
      const fence = Number(number);
      const key = `${org} ${fence}`;
      const known = this.fences.get(key) ?? {
        ...{ org, fence, pid: Number(pid), takenMs: atMs },
        ...{ waitMs: Number(waitMs), firstCommitMs: undefined },
      };
      this.fences.set(key, known);
      if (Number(commits) <= (this.commits.get(org) ?? 0)) continue;
      this.commits.set(org, Number(commits));
      known.firstCommitMs ??= atMs;
      checked.set(org, fence);
    }
    for (const [, org = '', seq] of this.entries) {
      const body = this.bodies.get(`${org} ${seq}`);
      if (!body) throw new Error(`entry ${seq} of ${org} was committed and is gone`);
      const { intent, action, target } = body;
      const what = { intent, action, target };
      this.sent.push({ org, seq: Number(seq), fence: checked.get(org), committedMs: atMs, ...what });
    }
    this.leases = [];
    this.entries = [];
  }
}

/** As the table has it at this moment. */
export interface LeaseNow {
  org: string;
  fence: number;
  pid: number;
  waitMs: number;
  isClean: boolean;
  commits: number;
}

export async function leasesNow(cluster: Cluster, database: string): Promise<LeaseNow[]> {
  const all = 'SELECT * FROM trustward.leases ORDER BY beaten_at DESC';
  const { rows } = await cluster.query(all, database, SUPERUSER);
  return rows.map((row) => ({
    org: row.org,
    fence: Number(row.fence),
    pid: Number(/(\d+)$/.exec(row.holder)?.[1]),
    waitMs: Number(row.wait_ms),
    isClean: row.is_clean,
    commits: Number(row.commits),
  }));
}
