// store: what is not kept of superseded plans. In: the newest runs. Out: plans that keep their digest, the number of their intents and the
// difference to their successors, without the intents. Never a plan that a person answered, or that was begun.
import type { DroppedIntents } from '../domain/plan.ts';
import { differenceFrom } from '../domain/plan-content.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { removeUnshared } from './planned-intents.ts';
import type { Db, Work } from './queries.ts';

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

export interface PlanToDrop {
  id: string;
  dropped: DroppedIntents;
}

/** It gives way: plans may be long. */
export async function plansToDrop(db: Db, reader: Pick<RecordReader, 'plan'>): Promise<PlanToDrop[]> {
  const found: PlanToDrop[] = [];
  for (const { id } of await db.reading(db.all<{ id: string }>(toDrop(db.dialect.by('plans_to_drop'))))) {
    const plan = await reader.plan(id);
    if (!plan) continue;
    found.push({ id, dropped: { intents: plan.intents.length, difference: await differenceFrom(reader, plan) } });
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
