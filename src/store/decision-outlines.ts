// store: all decisions in force in a run without what makes their rows long, a page of those of one rule, and chosen ones whole: a page
// counts and groups all of them, and shows few. In: a run, a rule, ids. Out: decisions, in the order of the run's report.
import type { StoredDecision } from '../domain/decision.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Newest } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import type { Db, Row } from './database.ts';
import { inForceIn } from './in-force.ts';
import { readInTurns } from './read-in-turns.ts';
import { decisionOfRow } from './rows.ts';

const COLUMNS = `id, run_id, run_seq, written_at, ended_seq, rule, rule_hash, kind, subject, subject_name, verdict, since, decision, reason,
  reason_text, action, target, mode, capped_by, episode_id, intent_id, outcome, effect`;
const ORDER = "CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id";
const ROWS_AT_ONCE = 1_000;

export async function outlinesOfRun(db: Db, run: RunRecord): Promise<StoredDecision[]> {
  const { sql, values } = inForceIn(run, COLUMNS);
  const rows = db.all<Row>(`SELECT * FROM ${sql} ORDER BY ${ORDER}`, ...values);
  const decisions: StoredDecision[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % ROWS_AT_ONCE === 0) await giveWay();
    decisions.push(decisionOfRow({ ...row, facts: '{}' }));
  }
  return decisions;
}

/** INVARIANT: an index has these columns, so that only the rows of the page are read. */
const ORDERED = 'id, rule, decision, target, subject';

export async function decisionsOfRule(
  db: Db,
  run: RunRecord,
  rule: string,
  { after, limit }: { after?: string; limit: number },
): Promise<Newest<StoredDecision>> {
  const { sql, values } = inForceIn(run, ORDERED, rule);
  const ids = db.all<{ id: string }>(`SELECT id FROM ${sql} ORDER BY ${ORDER}`, ...values).map(({ id }) => id);
  const from = after === undefined ? 0 : ids.indexOf(after) + 1;
  const isUnknown = after !== undefined && from === 0;
  return { rows: await decisionsById(db, isUnknown ? [] : ids.slice(from, from + limit)), total: ids.length };
}

export function decisionsById(db: Db, ids: readonly string[]): Promise<StoredDecision[]> {
  const sql =
    'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key';
  const found = ids.map((id) => ({ id }));
  return readInTurns(found, (some) => db.all(sql, JSON.stringify(some)).map(decisionOfRow));
}
