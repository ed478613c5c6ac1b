// store: what decisions of a time hold, counted for a summary. In: a time. Out: counts by rule and reason, with examples. It reads a few columns:
// a day may have tens of thousands.
import type { ReasonCode } from '../domain/decision.ts';
import type { HeldSince } from '../domain/page-reader.ts';
import { FIRST_OF_RUN, firstRunSince } from './lists.ts';
import type { Db, Work } from './queries.ts';

const HELD = `SELECT rule, reason, target, run_seq, ended_seq IS NULL AS in_force FROM decisions
  WHERE decision = 'hold' AND rowid >= (${FIRST_OF_RUN}) AND written_at >= ? ORDER BY rowid DESC`;

const inForce = (index: string) => `SELECT count(*) AS held FROM (SELECT DISTINCT action, target FROM decisions ${index}
  WHERE ended_seq IS NULL AND decision = 'hold' AND reason = ?) AS waiting`;

/** How many actions wait now for this reason. */
export function* heldInForce(db: Db, reason: ReasonCode): Work<number> {
  return (yield* db.get<{ held: number }>(inForce(db.dialect.by('decisions_held')), reason))?.held ?? 0;
}

interface HeldRow {
  rule: string;
  reason: string;
  target: string;
  run_seq: number;
  in_force: 0 | 1;
}

export function* heldSince(db: Db, sinceMs: number, named: number): Work<HeldSince[]> {
  const groups = new Map<string, HeldSince>();
  for (const row of yield* db.all<HeldRow>(HELD, yield* firstRunSince(db, sinceMs), sinceMs)) {
    const { rule, reason, target } = row;
    const key = `${rule} ${reason}`;
    const group = groups.get(key) ?? { rule, reason, count: 0, inForce: 0, some: [] };
    group.count += 1;
    group.inForce += row.in_force;
    if (group.some.length < named) group.some.push({ target, run: row.run_seq });
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}
