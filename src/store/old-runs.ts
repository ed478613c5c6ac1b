// store: removes runs that nothing depends on any longer, with the decisions, intents and plans that only they show, and old closed episodes,
// so that a database does not grow with every run. The audit keeps its entries about them. INVARIANT: called inside a transaction.

import type { AuditNote } from '../domain/audit-entry.ts';
import { type DroppedIntents, differenceFrom, plannedCounts } from '../domain/plan.ts';
import type { Removed } from '../domain/store.ts';
import type { RecordReader } from '../domain/store-ports.ts';
import { removeNotices } from './notices.ts';
import { type Db, OPEN, UNRESOLVED, type Work } from './queries.ts';
import { removeRevisions } from './save-plan.ts';
import { removeUnshared } from './stored-json.ts';

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
const BOUNDS = `SELECT min(seq) AS seq, min(started_at) AS started_at, count(*) AS n FROM (${NEWEST}) AS newest`;

const BEFORE = '(SELECT before_ms FROM kept)';

/** A plan stays when a person answered it, when it waits or was begun, and when another run shows it. */
const PLAN_STAYS = `SELECT 1 FROM plans WHERE plans.run_id = runs.id AND (decided_at IS NOT NULL OR status NOT IN ('superseded', 'expired')
  OR EXISTS (SELECT 1 FROM runs AS other WHERE other.plan_id = plans.id AND other.seq <> runs.seq))`;

/**
 * An intent stays while it is under way or in doubt; while its target has a claim or a decision in force, whose history it is; while an
 * episode that it is for is open; and as long as something of a run that stays depends on it. What is younger than `kept` has is kept.
 */
const INTENT_STAYS = `SELECT 1 FROM intents WHERE intents.run_id = runs.id AND (
  ${UNRESOLVED} OR max(created_at, coalesce(settled_at, 0)) >= ${BEFORE}
  OR EXISTS (SELECT 1 FROM claims WHERE target = intents.target AND status ${OPEN})
  OR EXISTS (SELECT 1 FROM claims WHERE intent_id = intents.id AND (status ${OPEN} OR coalesce(ended_at, ${BEFORE}) >= ${BEFORE}))
  OR EXISTS (SELECT 1 FROM decisions WHERE target = intents.target AND ended_seq IS NULL)
  OR EXISTS (SELECT 1 FROM attempts WHERE intent_id = intents.id AND sent_at >= ${BEFORE})
  OR EXISTS (SELECT 1 FROM intent_episodes AS one JOIN episodes ON episodes.id = one.episode_id WHERE one.intent_id = intents.id
    AND (episodes.state <> 'closed' OR EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id AND status ${OPEN}))))`;

/**
 * INVARIANT: a run that has something that stays stays whole. So does every remaining report: decisions that it shows, and their intents, stay.
 * The plus sign keeps the query on the index of ends: by number it would read nearly all runs each time.
 */
const OLD = `WITH kept(before_ms, seq) AS (SELECT CAST(? AS BIGINT), CAST(? AS BIGINT))
  SELECT seq, id FROM runs
  WHERE status <> 'running' AND finished_at < ${BEFORE} AND +seq < (SELECT kept.seq FROM kept)
    AND NOT EXISTS (${PLAN_STAYS})
    AND NOT EXISTS (SELECT 1 FROM acceptances WHERE run_id = runs.id)
    AND NOT EXISTS (SELECT 1 FROM decisions WHERE run_seq = runs.seq AND ended_seq IS NULL)
    AND NOT EXISTS (${INTENT_STAYS})
  ORDER BY finished_at LIMIT ${RUNS_AT_ONCE}`;

/** The decisions that no remaining run shows, once a run is gone: those since the run before it that ended until the run after it. */
const UNSHOWN = `run_seq > coalesce((SELECT max(seq) FROM runs WHERE seq < ?), 0) AND run_seq <= ?
  AND ended_seq <= (SELECT min(seq) FROM runs WHERE seq > ?)`;

/** Intents of runs that are gone, which no decision refers to any longer. */
const LEFT_BEHIND = `SELECT id FROM intents WHERE id IN (SELECT value FROM json_each(?))
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = intents.run_id) AND NOT EXISTS (SELECT 1 FROM decisions WHERE intent_id = intents.id)`;

/** The rows of intents, in an order in which none refers to one that is gone. */
const ROWS_OF_INTENTS = ['attempts', 'claims', 'intent_episodes'].map(
  (table) => `DELETE FROM ${table} WHERE intent_id IN (SELECT value FROM json_each(?))`,
);
const INTENTS = 'DELETE FROM intents WHERE id IN (SELECT value FROM json_each(?))';

/** Closed, and nothing that is still stored belongs to it. */
const OLD_EPISODES = `SELECT id FROM episodes WHERE state = 'closed' AND closed_at < ?
    AND NOT EXISTS (SELECT 1 FROM intent_episodes WHERE episode_id = episodes.id)
    AND NOT EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id)
    AND NOT EXISTS (SELECT 1 FROM episode_seen WHERE episode_id = episodes.id)
  LIMIT ${EPISODES_AT_ONCE}`;

/** Some of the runs that finished this long before all of the newest, and some old episodes; undefined: there are none. */
export function* removeOldRuns(db: Db, olderByMs: number): Work<Removed | undefined> {
  const newest = yield* db.get<{ seq: number; started_at: number; n: number }>(BOUNDS);
  if (newest === undefined || newest.n < NEWEST_KEPT) return undefined;
  const beforeMs = newest.started_at - olderByMs;
  const removed: Removed = { runs: 0, decisions: 0, intents: 0, plans: 0, episodes: 0, upTo: 0 };
  let rows = 0;
  for (const run of yield* db.all<{ seq: number; id: string }>(OLD, beforeMs, newest.seq)) {
    if (rows >= ROWS_AT_ONCE) break;
    rows += yield* removeRun(db, run, removed);
  }
  removed.episodes = yield* removeEpisodes(db, beforeMs);
  yield* db.run('DELETE FROM attempt_counts WHERE minute < ?', Math.floor(beforeMs / 60_000));
  return removed.runs + removed.episodes > 0 ? removed : undefined;
}

function* removeRun(db: Db, { seq, id }: { seq: number; id: string }, removed: Removed): Work<number> {
  const plans = yield* db.all<{ intents: string }>('SELECT intents FROM plans WHERE run_id = ?', id);
  yield* removeRevisions(db, 'plan_id IN (SELECT id FROM plans WHERE run_id = ?)', id);
  removed.plans += yield* db.run('DELETE FROM plans WHERE run_id = ?', id);
  removed.runs += yield* db.run('DELETE FROM runs WHERE seq = ?', seq);
  for (const plan of plans) yield* removeUnshared(db, plan.intents);
  const own = yield* db.all<{ id: string }>('SELECT id FROM intents WHERE run_id = ?', id);
  const named = yield* db.all<{ id: string }>(
    `SELECT DISTINCT intent_id AS id FROM decisions WHERE ${UNSHOWN} AND intent_id IS NOT NULL`,
    seq,
    seq,
    seq,
  );
  const decisions = yield* db.run(`DELETE FROM decisions WHERE ${UNSHOWN}`, seq, seq, seq);
  const about = JSON.stringify([...own, ...named].map((intent) => intent.id));
  const left = (yield* db.all<{ id: string }>(LEFT_BEHIND, about)).map((intent) => intent.id);
  const intents = JSON.stringify(left);
  let rows = 1 + plans.length + decisions + left.length;
  for (const sql of ROWS_OF_INTENTS) rows += yield* db.run(sql, intents);
  removed.intents += yield* db.run(INTENTS, intents);
  removed.decisions += decisions;
  removed.upTo = Math.max(removed.upTo, seq);
  return rows;
}

function* removeEpisodes(db: Db, beforeMs: number): Work<number> {
  const ids = JSON.stringify((yield* db.all<{ id: string }>(OLD_EPISODES, beforeMs)).map(({ id }) => id));
  yield* db.run('DELETE FROM rejected_intents WHERE episode_id IN (SELECT value FROM json_each(?))', ids);
  yield* removeNotices(db, ids);
  return yield* db.run('DELETE FROM episodes WHERE id IN (SELECT value FROM json_each(?))', ids);
}

// What is not kept of superseded plans.

/** The reports of so many newest runs show what their plans held. */
const RUNS_WITH_INTENTS = 100;
const PLANS_AT_ONCE = 5;

/** The oldest first: the difference of each is found before its successor loses its intents. */
const toDrop = (
  index: string,
) => `SELECT id FROM plans ${index} WHERE status = 'superseded' AND dropped IS NULL AND decided_at IS NULL
    AND json_valid(intents) AND CAST(json_extract(intents, '$[0].released') AS TEXT) IS DISTINCT FROM '1' -- a person made it
    AND coalesce((SELECT seq FROM runs WHERE runs.id = plans.run_id), 0) <= (SELECT max(seq) FROM runs) - ${RUNS_WITH_INTENTS}
  ORDER BY created_at, id LIMIT ${PLANS_AT_ONCE}`;

interface PlanToDrop {
  id: string;
  dropped: DroppedIntents;
}

/** It gives way: plans may be long. */
export async function plansToDrop(db: Db, reader: Pick<RecordReader, 'plan'>): Promise<PlanToDrop[]> {
  const found: PlanToDrop[] = [];
  for (const { id } of await db.reading(db.all<{ id: string }>(toDrop(db.dialect.by('plans_to_drop'))))) {
    const plan = await reader.plan(id);
    if (!plan) continue;
    const difference = await differenceFrom(reader, plan);
    found.push({ id, dropped: { intents: plan.intents.length, difference, counts: plannedCounts(plan) } });
  }
  return found;
}

/** INVARIANT: called inside a transaction. */
export function* dropIntents(db: Db, { id, dropped }: PlanToDrop): Work<void> {
  const row = yield* db.get<{ intents: string }>(
    "SELECT intents FROM plans WHERE id = ? AND status = 'superseded'",
    id,
  );
  if (!row) return;
  yield* db.run("UPDATE plans SET intents = '[]', dropped = ? WHERE id = ?", JSON.stringify(dropped), id);
  yield* removeUnshared(db, row.intents);
}

const REVISIONS_AT_ONCE = 20;

/** Earlier contents of plans that wait no longer: a report of one of the newest runs may show them. INVARIANT: called inside a transaction. */
export function* dropRevisions(db: Db): Work<number> {
  const sql = `SELECT plan_id, no FROM plan_revisions JOIN plans ON plans.id = plan_id WHERE plans.status <> 'pending'
    AND coalesce((SELECT seq FROM runs WHERE runs.id = plans.run_id), 0) <= (SELECT max(seq) FROM runs) - ${RUNS_WITH_INTENTS}
    LIMIT ${REVISIONS_AT_ONCE}`;
  let dropped = 0;
  for (const { plan_id, no } of yield* db.all<{ plan_id: string; no: number }>(sql))
    dropped += yield* removeRevisions(db, 'plan_id = ? AND no = ?', plan_id, no);
  return dropped;
}

// Expires waiting plans, pending or approved: at their end, or all at once. Rows in, audit notes out. INVARIANT: called
// inside a transaction that also appends the notes.

interface WaitingRow {
  id: string;
  status: string;
  expires_at: number;
}

/** Expires the plans whose end has come. */
export function* expireOver(db: Db, nowMs: number): Work<AuditNote[]> {
  const over = yield* db.all<WaitingRow>(
    "SELECT id, status, expires_at FROM plans WHERE status IN ('pending', 'approved') AND expires_at <= ?",
    nowMs,
  );
  for (const { id } of over) yield* db.run("UPDATE plans SET status = 'expired' WHERE id = ?", id);
  return over.map(noteOf);
}

/** Ends all of them now, before their end; this time is recorded as their end. An interrupted one keeps its status. */
export function* expireAll(db: Db, nowMs: number, why: string): Work<AuditNote[]> {
  const inTime = yield* db.all<WaitingRow>(
    "SELECT id, status, expires_at FROM plans WHERE status IN ('pending', 'approved', 'applying', 'interrupted') AND expires_at > ?",
    nowMs,
  );
  const over = yield* expireOver(db, nowMs);
  // Only a writer without a daemon accepts, so a plan that is being applied was cut off.
  const end = `UPDATE plans SET status = CASE WHEN status IN ('applying', 'interrupted') THEN 'interrupted' ELSE 'expired' END, expires_at = ?
    WHERE id = ?`;
  for (const { id } of inTime) yield* db.run(end, nowMs, id);
  return [...over, ...inTime.map((row) => ({ kind: 'plan.expired' as const, body: { ...noteOf(row).body, why } }))];
}

function noteOf({ id, status, expires_at }: WaitingRow): AuditNote {
  return { kind: 'plan.expired', body: { plan: id, was: status, expiresAt: expires_at } };
}
