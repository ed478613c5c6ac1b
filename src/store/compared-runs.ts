// store: what a report compares a run with: the run before it, the decisions that ended since, and what earlier runs counted.
// In: runs by their numbers. Out: nouns. It never loads what a run found as a whole.
import type { Episode } from '../domain/episode.ts';
import { giveWay } from '../domain/give-way.ts';
import { isLive, leastMode, MODES } from '../domain/mode.ts';
import type { EndedDecision, EndedKey } from '../domain/record-reader.ts';
import type { ComparedRun, Run, RunMatches } from '../domain/run.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { Db, Work } from './queries.ts';
import { readInTurns } from './read-in-turns.ts';
import { decisionOfRow } from './rows.ts';

const LIVE = JSON.stringify(MODES.filter(isLive));

export function* comparedRun(db: Db, run: Run): Work<ComparedRun | undefined> {
  const live = 'SELECT value FROM json_each(?)';
  const row = yield* db.get<{ id: string; seq: number; started_at: number }>(
    `SELECT id, seq, started_at FROM runs
     WHERE seq < ? AND status = 'completed' AND scoped = 0 AND (mode IN (${live}) AND daemon_mode IN (${live})) = ?
     ORDER BY seq DESC LIMIT 1`,
    run.seq,
    LIVE,
    LIVE,
    isLive(leastMode(run.mode, run.daemonMode)) ? 1 : 0,
  );
  return row && { id: row.id, seq: row.seq, startedAt: row.started_at };
}

/** Every rule of which a decision has ended, found in the index one after another. */
const rulesOf = (index: string) => `WITH RECURSIVE named(rule) AS (
    SELECT min(rule) FROM decisions ${index} WHERE ended_seq IS NOT NULL AND rule > ''
    UNION ALL SELECT (SELECT min(rule) FROM decisions ${index} WHERE ended_seq IS NOT NULL AND rule > named.rule)
    FROM named WHERE named.rule IS NOT NULL)
  SELECT rule FROM named WHERE rule IS NOT NULL`;

export function* decisionsEnded(
  db: Db,
  { fromSeq, toSeq, rules }: { fromSeq: number; toSeq: number; rules?: readonly string[] },
): Work<EndedKey[]> {
  const index = db.dialect.by('decisions_ended'); // by rule, those that ended between: few rows are read
  const named = rules ?? (yield* db.all<{ rule: string }>(rulesOf(index))).map(({ rule }) => rule);
  const sql = `SELECT id, rule, kind, subject, action, target
    FROM decisions ${index}
    WHERE rule IN (SELECT value FROM json_each(?)) AND ended_seq > ? AND ended_seq <= ? AND run_seq <= ?
    ORDER BY rule, target, subject, id`;
  return (yield* db.all(sql, JSON.stringify(named), fromSeq, toSeq, fromSeq)).map((row) => ({
    id: row.id as string,
    rule: row.rule as string,
    subject: { kind: row.kind as SubjectKind, id: row.subject as string },
    action: row.action as EndedKey['action'],
    target: row.target as string,
  }));
}

/** All that `decisionOfRow` asks but the facts and the flip, which are long. */
const COLUMNS = `decisions.id, run_id, run_seq, written_at, ended_seq, decisions.rule, rule_hash, decisions.kind, decisions.subject,
  subject_name, verdict, decisions.since, decision, reason, reason_text, action, target, mode, capped_by, '{}' AS facts, NULL AS flip,
  effect, episode_id, intent_id, outcome, outcome_text`;

export function endedDecisions(db: Db, ids: readonly string[]): Promise<EndedDecision[]> {
  const sql = `SELECT ${COLUMNS}, episodes.close_reason FROM json_each(?) JOIN decisions ON decisions.id = json_each.value
    LEFT JOIN episodes ON episodes.id = decisions.episode_id ORDER BY json_each.key`;
  return readInTurns(
    ids.map((id) => ({ id })),
    async (some) =>
      (await db.reading(db.all(sql, JSON.stringify(some)))).map((row) => ({
        ...decisionOfRow(row),
        episodeClosed: (row.close_reason ?? undefined) as Episode['closeReason'],
      })),
  );
}

const WHOLE = `SELECT seq FROM runs
  WHERE seq <= ? AND status = 'completed' AND scoped = 0 AND tallies IS NOT NULL ORDER BY seq DESC LIMIT ?`;
const MATCHES = `SELECT tally.value ->> '$.rule' AS rule, seq, started_at AS "startedAt", CAST(tally.value ->> '$.match' AS BIGINT) AS match
  FROM runs, json_each(runs.tallies) AS tally WHERE seq = ? AND CAST(tally.value ->> '$.judged' AS BIGINT) = 1`;

/** A run at a time: the examples of many rules are long, and others get their turn between. */
export async function matchesOfRuns(db: Db, upToSeq: number, runsMax: number): Promise<RunMatches[]> {
  const matches: RunMatches[] = [];
  for (const { seq } of (await db.reading(db.all<{ seq: number }>(WHOLE, upToSeq, runsMax))).reverse()) {
    matches.push(...(await db.reading(db.all<RunMatches>(MATCHES, seq))));
    await giveWay();
  }
  return matches;
}
