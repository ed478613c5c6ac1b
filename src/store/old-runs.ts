// store: removes runs that nothing depends on any longer, with the decisions, intents and plans that only they show, and old closed episodes,
// so that a database does not grow with every run. The audit keeps its entries about them. INVARIANT: called inside a transaction.
import type { Removed } from '../domain/store.ts';
import type { Db } from './database.ts';
import { removeUnshared } from './planned-intents.ts';

/** The number of newest runs that are always kept: reports and queries about the last runs look no further back. */
const NEWEST_KEPT = 1_000;
/** In one transaction, so that nobody waits for it long. A run that alone has more goes whole. */
const ROWS_AT_ONCE = 1_500;
const RUNS_AT_ONCE = 50;
const EPISODES_AT_ONCE = 250;

/**
 * INVARIANT: age is counted from the earliest of the runs that are always kept, not from now: a wall clock that is wrong for some
 * runs removes nothing, and a clock that was behind only keeps more.
 */
const NEWEST = `SELECT seq, started_at FROM runs ORDER BY seq DESC LIMIT ${NEWEST_KEPT}`;
const BOUNDS = `SELECT min(seq) AS seq, min(started_at) AS started_at, count(*) AS n FROM (${NEWEST})`;

const BEFORE = '(SELECT before_ms FROM kept)';
const OPEN = "IN ('standing', 'orphaned')";

/** A plan stays when a person answered it, when it waits or was begun, and when another run shows it. */
const PLAN_STAYS = `SELECT 1 FROM plans WHERE plans.run_id = runs.id AND (decided_at IS NOT NULL OR status NOT IN ('superseded', 'expired')
  OR EXISTS (SELECT 1 FROM runs AS other WHERE other.plan_id = plans.id AND other.seq <> runs.seq))`;

/**
 * An intent stays while it is under way or in doubt; while its target has a claim or a decision in force, whose history it is; while an
 * episode that it is for is open; and as long as something of a run that stays depends on it. What is younger than `kept` has is kept.
 */
const INTENT_STAYS = `SELECT 1 FROM intents WHERE intents.run_id = runs.id AND (
  status IN ('planned', 'sent') OR outcome IN ('unknown', 'parked') OR max(created_at, coalesce(settled_at, 0)) >= ${BEFORE}
  OR EXISTS (SELECT 1 FROM claims WHERE target = intents.target AND status ${OPEN})
  OR EXISTS (SELECT 1 FROM claims WHERE intent_id = intents.id AND (status ${OPEN} OR coalesce(ended_at, ${BEFORE}) >= ${BEFORE}))
  OR EXISTS (SELECT 1 FROM decisions WHERE target = intents.target AND ended_seq IS NULL)
  OR EXISTS (SELECT 1 FROM decisions WHERE intent_id = intents.id AND run_id <> intents.run_id)
  OR EXISTS (SELECT 1 FROM attempts WHERE intent_id = intents.id AND sent_at >= ${BEFORE})
  OR EXISTS (SELECT 1 FROM intent_episodes AS one JOIN episodes ON episodes.id = one.episode_id WHERE one.intent_id = intents.id
    AND (episodes.state <> 'closed' OR EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id AND status ${OPEN}))))`;

/** A decision stays while it is in force, and when a run between its first and its end shows it, or another run has its intent. */
const DECISION_STAYS = `SELECT 1 FROM decisions WHERE run_seq = runs.seq AND (ended_seq IS NULL
  OR EXISTS (SELECT 1 FROM runs AS later WHERE later.seq > decisions.run_seq AND later.seq < decisions.ended_seq)
  OR EXISTS (SELECT 1 FROM intents WHERE intents.id = decisions.intent_id AND intents.run_id <> runs.id))`;

/**
 * INVARIANT: a run that has something that stays stays whole, and so does every remaining report.
 * The plus sign keeps the query on the index of ends: by number it would read nearly all runs each time.
 */
const OLD = `WITH kept(before_ms, seq) AS (SELECT ?, ?)
  SELECT seq, id FROM runs
  WHERE status <> 'running' AND finished_at < ${BEFORE} AND +seq < (SELECT kept.seq FROM kept)
    AND NOT EXISTS (${PLAN_STAYS})
    AND NOT EXISTS (SELECT 1 FROM acceptances WHERE run_id = runs.id)
    AND NOT EXISTS (${DECISION_STAYS})
    AND NOT EXISTS (${INTENT_STAYS})
  LIMIT ${RUNS_AT_ONCE}`;

const OF_RUN = '(SELECT id FROM intents WHERE run_id = ?)';

/** The rows of a run, in an order in which none refers to one that is gone. */
const ROWS_OF_RUN = [
  `DELETE FROM attempts WHERE intent_id IN ${OF_RUN}`,
  `DELETE FROM claims WHERE intent_id IN ${OF_RUN}`,
  `DELETE FROM intent_episodes WHERE intent_id IN ${OF_RUN}`,
];

/** Closed, and nothing that is still stored belongs to it. */
const OLD_EPISODES = `SELECT id FROM episodes WHERE state = 'closed' AND closed_at < ?
    AND NOT EXISTS (SELECT 1 FROM intent_episodes WHERE episode_id = episodes.id)
    AND NOT EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id)
    AND NOT EXISTS (SELECT 1 FROM episode_seen WHERE episode_id = episodes.id)
  LIMIT ${EPISODES_AT_ONCE}`;

/** Some of the runs that finished this long before all of the newest, and some old episodes; undefined: there are none. */
export function removeOldRuns(db: Db, olderByMs: number): Removed | undefined {
  const newest = db.get<{ seq: number; started_at: number; n: number }>(BOUNDS);
  if (newest === undefined || newest.n < NEWEST_KEPT) return undefined;
  const beforeMs = newest.started_at - olderByMs;
  const removed: Removed = { runs: 0, decisions: 0, intents: 0, plans: 0, episodes: 0, upTo: 0 };
  let rows = 0;
  for (const run of db.all<{ seq: number; id: string }>(OLD, beforeMs, newest.seq)) {
    if (rows >= ROWS_AT_ONCE) break;
    rows += removeRun(db, run, removed);
  }
  removed.episodes = removeEpisodes(db, beforeMs);
  db.run('DELETE FROM attempt_counts WHERE minute < ?', Math.floor(beforeMs / 60_000));
  return removed.runs + removed.episodes > 0 ? removed : undefined;
}

function removeRun(db: Db, { seq, id }: { seq: number; id: string }, removed: Removed): number {
  let rows = 1;
  for (const sql of ROWS_OF_RUN) rows += db.run(sql, id);
  const plans = db.all<{ intents: string }>('SELECT intents FROM plans WHERE run_id = ?', id);
  const counted = {
    decisions: db.run('DELETE FROM decisions WHERE run_seq = ?', seq),
    intents: db.run('DELETE FROM intents WHERE run_id = ?', id),
    plans: db.run('DELETE FROM plans WHERE run_id = ?', id),
    runs: db.run('DELETE FROM runs WHERE seq = ?', seq),
  };
  for (const plan of plans) removeUnshared(db, plan.intents);
  for (const what of ['decisions', 'intents', 'plans', 'runs'] as const) {
    removed[what] += counted[what];
    rows += counted[what];
  }
  removed.upTo = Math.max(removed.upTo, seq);
  return rows;
}

function removeEpisodes(db: Db, beforeMs: number): number {
  const ids = JSON.stringify(db.all<{ id: string }>(OLD_EPISODES, beforeMs).map(({ id }) => id));
  db.run('DELETE FROM rejected_intents WHERE episode_id IN (SELECT value FROM json_each(?))', ids);
  return db.run('DELETE FROM episodes WHERE id IN (SELECT value FROM json_each(?))', ids);
}
