// store: removes runs that nothing depends on any longer, with the decisions that only they show, so that a database does not
// grow with every run. The audit keeps its entries about them. INVARIANT: called inside a transaction.
import type { Removed } from '../domain/store.ts';
import type { Db } from './database.ts';

/** The number of newest runs that are always kept: reports and queries about the last runs look no further back. */
const NEWEST_KEPT = 1_000;
const AT_ONCE_MAX = 500;

/**
 * INVARIANT: age is counted from the earliest of the runs that are always kept, not from now: a wall clock that is wrong for some
 * runs removes nothing, and a clock that was behind only keeps more.
 */
const NEWEST = `SELECT seq, started_at FROM runs ORDER BY seq DESC LIMIT ${NEWEST_KEPT}`;
const BOUNDS = `SELECT min(seq) AS seq, min(started_at) AS started_at, count(*) AS n FROM (${NEWEST})`;

/**
 * INVARIANT: a run with a plan, an intent, an attempt or an acceptance stays, and every remaining report stays whole: a decision is
 * removed when it has ended, led to no intent, and was in force in no other remaining run.
 * The plus sign keeps the query on the index of ends: by number it would read nearly all runs each time.
 */
const OLD = `SELECT seq FROM runs
  WHERE status <> 'running' AND finished_at < ? AND +seq < ?
    AND NOT EXISTS (SELECT 1 FROM plans WHERE run_id = runs.id)
    AND NOT EXISTS (SELECT 1 FROM intents WHERE run_id = runs.id)
    AND NOT EXISTS (SELECT 1 FROM attempts WHERE run_id = runs.id)
    AND NOT EXISTS (SELECT 1 FROM acceptances WHERE run_id = runs.id)
    AND NOT EXISTS (
      SELECT 1 FROM decisions WHERE run_seq = runs.seq AND (
        ended_seq IS NULL OR intent_id IS NOT NULL OR EXISTS (
          SELECT 1 FROM runs AS later WHERE later.seq > decisions.run_seq AND later.seq < decisions.ended_seq)))
  LIMIT ${AT_ONCE_MAX}`;

/** The runs that finished this long before all of the newest; undefined: none. */
export function removeOldRuns(db: Db, olderByMs: number): Removed | undefined {
  const newest = db.get<{ seq: number; started_at: number; n: number }>(BOUNDS);
  if (newest === undefined || newest.n < NEWEST_KEPT) return undefined;
  const seqs = db.all<{ seq: number }>(OLD, newest.started_at - olderByMs, newest.seq).map(({ seq }) => seq);
  if (seqs.length === 0) return undefined;
  const removed: Removed = { runs: seqs.length, decisions: 0, upTo: Math.max(...seqs) };
  for (const seq of seqs) {
    removed.decisions += db.run('DELETE FROM decisions WHERE run_seq = ?', seq);
    db.run('DELETE FROM runs WHERE seq = ?', seq);
  }
  return removed;
}
