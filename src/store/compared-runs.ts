// store: what a report compares a run with: the run before it, the decisions that ended since, and what earlier runs counted.
// In: runs by their numbers. Out: nouns. It never loads what a run found as a whole.
import type { Episode } from '../domain/episode.ts';
import { giveWay } from '../domain/give-way.ts';
import { isLive, leastMode, MODES } from '../domain/mode.ts';
import type { EndedDecision } from '../domain/record-reader.ts';
import type { ComparedRun, Run, RunMatches } from '../domain/run.ts';
import type { Db } from './database.ts';
import { readInTurns } from './read-in-turns.ts';
import { decisionOfRow } from './rows.ts';

const LIVE = JSON.stringify(MODES.filter(isLive));

export function comparedRun(db: Db, run: Run): ComparedRun | undefined {
  const live = 'SELECT value FROM json_each(?)';
  const row = db.get<{ id: string; seq: number; started_at: number }>(
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

export async function decisionsEnded(
  db: Db,
  { fromSeq, toSeq, rules }: { fromSeq: number; toSeq: number; rules?: readonly string[] },
): Promise<EndedDecision[]> {
  const found = db.all<{ id: string; bytes: number }>(
    `SELECT id, octet_length(facts) + octet_length(effect) + octet_length(subject_name) AS bytes
     FROM decisions INDEXED BY decisions_run -- the index has both numbers: few rows are read
     WHERE run_seq <= ? AND ended_seq > ? AND ended_seq <= ? ${rules ? 'AND rule IN (SELECT value FROM json_each(?))' : ''}
     ORDER BY rule, target, subject, id`,
    fromSeq,
    fromSeq,
    toSeq,
    ...(rules ? [JSON.stringify(rules)] : []),
  );
  return readInTurns(found, (ids) =>
    db
      .all(
        `SELECT decisions.*, episodes.close_reason FROM json_each(?) JOIN decisions ON decisions.id = json_each.value
         LEFT JOIN episodes ON episodes.id = decisions.episode_id ORDER BY json_each.key`,
        JSON.stringify(ids),
      )
      .map((row) => ({
        ...decisionOfRow(row),
        episodeClosed: (row.close_reason ?? undefined) as Episode['closeReason'],
      })),
  );
}

const WHOLE = `SELECT seq FROM runs
  WHERE seq <= ? AND status = 'completed' AND scoped = 0 AND tallies IS NOT NULL ORDER BY seq DESC LIMIT ?`;
const MATCHES = `SELECT tally.value ->> '$.rule' AS rule, seq, started_at AS startedAt, tally.value ->> '$.match' AS match
  FROM runs, json_each(runs.tallies) AS tally WHERE seq = ? AND tally.value ->> '$.judged'`;

/** A run at a time: the examples of many rules are long, and others get their turn between. */
export async function matchesOfRuns(db: Db, upToSeq: number, runsMax: number): Promise<RunMatches[]> {
  const matches: RunMatches[] = [];
  for (const { seq } of db.all<{ seq: number }>(WHOLE, upToSeq, runsMax).reverse()) {
    matches.push(...db.all<RunMatches>(MATCHES, seq));
    await giveWay();
  }
  return matches;
}
