// store: what looks between two whole runs ask. In: the number of the last whole run, a time. Out: nouns.
// INVARIANT: every query here is answered by an index (test/store/watch-queries.test.ts): it is asked every few seconds.
import type { CountedDecision, NewMatch } from '../domain/watch-store.ts';
import type { Dialect } from './dialect.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

export function* lastWholeSeq(db: Db): Work<number | undefined> {
  const sql = `SELECT max(seq) AS seq FROM runs ${db.dialect.by('runs_whole')} WHERE status = 'completed' AND scoped = 0`;
  return (yield* db.get<{ seq: number | null }>(sql))?.seq ?? undefined;
}

export function* eventTimes(db: Db, fromMs: number): Work<Map<string, number>> {
  const rows = yield* db.all<{ id: string; at: number }>(
    'SELECT id, created_at AS at FROM events WHERE created_at >= ?',
    fromMs,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

const OWNERS = `(SELECT json_group_array(owner.value) FROM json_each(effect, '$.devices') AS device,
  json_each(device.value, '$.owners') AS owner)`;

/** Both halves are looked up by rule: the rules are few. */
const counted = ({
  by,
}: Dialect) => `WITH asked(rule) AS (SELECT DISTINCT value FROM runs, json_each(runs.rules) WHERE seq >= ?)
  SELECT rule, kind, subject, reason, action, target, mode, capped_by, ${OWNERS} AS owners FROM (
    SELECT * FROM decisions ${by('decisions_standing')} WHERE ended_seq IS NULL AND rule IN (SELECT rule FROM asked)
    UNION ALL
    SELECT * FROM decisions ${by('decisions_ended')} WHERE ended_seq > ? AND rule IN (SELECT rule FROM asked)) AS counted
  WHERE verdict = 'match' AND reason IN (SELECT value FROM json_each(?))`;

export function* countedSince(db: Db, runSeq: number, reasons: readonly string[]): Work<CountedDecision[]> {
  return (yield* db.all(counted(db.dialect), runSeq, runSeq, JSON.stringify(reasons))).map((row) => ({
    rule: row.rule as string,
    subject: { kind: row.kind as CountedDecision['subject']['kind'], id: row.subject as string },
    reason: row.reason as CountedDecision['reason'],
    action: row.action as string,
    target: row.target as string,
    mode: row.mode as CountedDecision['mode'],
    cappedBy: (row.capped_by ?? undefined) as CountedDecision['cappedBy'],
    owners: storedJson<string[]>(row.owners).map((owner) => owner.toLowerCase()),
  }));
}

export function* newMatchesSince(db: Db, runSeq: number, atMs: number): Work<NewMatch[]> {
  const sql = `SELECT kind, subject, facts FROM decisions ${db.dialect.by('decisions_by_run')}
    WHERE run_seq > ? AND verdict = 'match' AND since > ? ORDER BY run_seq, rowid`;
  return (yield* db.all(sql, runSeq, atMs)).map((row) => ({
    subject: { kind: row.kind as NewMatch['subject']['kind'], id: row.subject as string },
    facts: storedJson<NewMatch['facts']>(row.facts),
  }));
}

/** An intent that was tried again with success is none. */
export function* failuresOfRun(db: Db, runId: string): Work<number> {
  const sql = `SELECT count(*) AS n FROM attempts JOIN intents ON intents.id = attempts.intent_id
    WHERE attempts.run_id = ? AND (attempts.refused = 1 OR outcome IN ('failed', 'unknown', 'parked') OR outcome IS NULL)`;
  return Number((yield* db.get<{ n: number }>(sql, runId))?.n);
}
