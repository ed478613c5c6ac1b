// store: a plan with what its decisions and its progress are found by. In: an id. Out: an outline. SQLite reads the document, which may be
// megabytes: parsing all of it for four texts of each intent takes three times as long.
import { type OutlinedIntent, type PlanOutline, statusAt } from '../domain/plan.ts';
import type { Db, Row, Work } from './queries.ts';
import { planOfRow } from './rows.ts';
import { storedJson } from './stored-json.ts';

const headOf = (
  index: string,
) => `SELECT id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by, dropped, break_glass
  FROM plans ${index} WHERE id = ?`;

/** A row for each rule and subject that an intent is based on. An intent is in the plan, or the number of a shared row. */
const BASES = `SELECT one.no, one.intent ->> '$.action' AS action, one.intent ->> '$.target' AS target,
    basis.value ->> '$.rule' AS rule, basis.value ->> '$.subjectId' AS "subjectId", basis.value ->> '$.episodeId' AS "episodeId"
  FROM (SELECT planned.key AS no, CASE WHEN planned.type = 'integer'
      THEN (SELECT content FROM planned_intents WHERE planned_intents.no = CAST(planned.value AS BIGINT)) ELSE planned.value END AS intent
    FROM plans, jsonb_each(plans.intents) AS planned WHERE plans.id = ?) AS one, jsonb_each(one.intent, '$.basis') AS basis`;

/** Errors: AppError `store_damaged`. */
export function* planOutline(db: Db, id: string, nowMs: number): Work<PlanOutline | undefined> {
  const row = yield* db.get(headOf(db.dialect.by('plans_heads')), id);
  if (!row) return undefined;
  const { intents: _, ...head } = planOfRow(row, []);
  return { ...head, status: statusAt(head, nowMs), intents: outlinedIntents(yield* basesOf(db, id)) };
}

function* basesOf(db: Db, id: string): Work<Row[]> {
  try {
    return yield* db.all(BASES, id);
  } catch (error) {
    storedJson((yield* db.get<{ intents: string }>('SELECT intents FROM plans WHERE id = ?', id))?.intents); // it names the damage
    throw error;
  }
}

function outlinedIntents(bases: readonly Row[]): OutlinedIntent[] {
  const intents = new Map<unknown, OutlinedIntent & { basis: OutlinedIntent['basis'][number][] }>();
  for (const { no, action, target, rule, subjectId, episodeId } of bases) {
    const basis = { rule, subjectId, episodeId } as OutlinedIntent['basis'][number];
    const known = intents.get(no);
    if (known) known.basis.push(basis);
    else intents.set(no, { action, target, basis: [basis] } as OutlinedIntent & { basis: [typeof basis] });
  }
  return [...intents.values()];
}
