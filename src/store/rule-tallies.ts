// store: how many subjects each rule matched in the newest completed runs over all active rules. In: a limit.
// Out: the counts of each run, newest first. It reads a few runs at a time and leaves others their turn; it changes nothing.
import type { RunRuleTally, RunTallies } from '../domain/run.ts';
import type { Db } from './queries.ts';
import { readInTurns } from './read-in-turns.ts';
import { storedJson } from './stored-json.ts';

/** The index of statuses has them in their order. */
const NEWEST = `SELECT seq AS id, octet_length(tallies) AS bytes FROM runs
  WHERE status = 'completed' AND scoped = 0 AND tallies IS NOT NULL ORDER BY seq DESC LIMIT ?`;

const NAMED = `SELECT runs.seq, runs.started_at AS at, runs.tallies FROM json_each(?)
  JOIN runs ON runs.seq = CAST(json_each.value AS BIGINT) ORDER BY json_each.key`;

export async function newestRuleTallies(db: Db, limit: number): Promise<RunTallies[]> {
  return readInTurns(await db.reading(db.all<{ id: string; bytes: number }>(NEWEST, limit)), async (seqs) => {
    const rows = await db.reading(db.all<{ seq: number; at: number; tallies: string }>(NAMED, JSON.stringify(seqs)));
    return rows.map(({ seq, at, tallies }) => ({
      seq,
      at,
      tallies: storedJson<RunRuleTally[]>(tallies).flatMap(countsOf),
    }));
  });
}

/** A rule that was not judged has no counts: its zeros would show as no match. */
function countsOf({ rule, match, no_match, unknown, error, judged }: RunRuleTally): RunTallies['tallies'] {
  return judged ? [{ rule, match, no_match, unknown, error }] : [];
}
