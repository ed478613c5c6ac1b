// store: all decisions in force in a run without what makes their rows long, a page of those of one rule, and chosen ones whole: a page
// counts and groups all of them, and shows few. In: a run, a rule, ids. Out: decisions, in the order of the run's report.
import type { StoredDecision } from '../domain/decision.ts';
import { giveWay } from '../domain/give-way.ts';
import type { DecisionOutline } from '../domain/page-reader.ts';
import type { Newest } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import { inForceIn } from './in-force.ts';
import type { Db, Row } from './queries.ts';
import { readInTurns } from './read-in-turns.ts';
import { decisionOfRow } from './rows.ts';
import { storedJson } from './stored-json.ts';

const COLUMNS = `id, run_seq, rule, rule_hash, kind, subject, subject_name, verdict, since, decision, reason, reason_text, action, target, mode,
  capped_by, intent_id, outcome, effect`;
const ORDER = "CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id";
const ROWS_AT_ONCE = 1_000;

export async function outlinesOfRun(db: Db, run: RunRecord): Promise<DecisionOutline[]> {
  const { sql, values } = inForceIn(db.dialect, run, COLUMNS);
  const rows = await db.reading(db.all<Row>(`SELECT * FROM ${sql} ORDER BY ${ORDER}`, ...values));
  const outlines: DecisionOutline[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % ROWS_AT_ONCE === 0) await giveWay();
    outlines.push(outlineOfRow(row));
  }
  return outlines;
}

function outlineOfRow(row: Row): DecisionOutline {
  return {
    id: row.id as string,
    runSeq: row.run_seq as number,
    rule: row.rule as string,
    ruleHash: row.rule_hash as string,
    subject: { kind: row.kind, id: row.subject } as DecisionOutline['subject'],
    subjectName: row.subject_name as string,
    verdict: row.verdict as DecisionOutline['verdict'],
    since: row.since as number,
    decision: row.decision as DecisionOutline['decision'],
    reason: row.reason as DecisionOutline['reason'],
    reasonText: row.reason_text as string,
    action: row.action as DecisionOutline['action'],
    target: row.target as string,
    mode: row.mode as DecisionOutline['mode'],
    cappedBy: (row.capped_by ?? undefined) as DecisionOutline['cappedBy'],
    intentId: (row.intent_id ?? undefined) as DecisionOutline['intentId'],
    outcome: (row.outcome ?? undefined) as DecisionOutline['outcome'],
    effect: storedJson(row.effect),
  };
}

/** INVARIANT: an index has these columns, so that only the rows of the page are read. */
const ORDERED = 'id, rule, decision, target, subject';

export async function decisionsOfRule(
  db: Db,
  run: RunRecord,
  rule: string,
  { after, limit }: { after?: string; limit: number },
): Promise<Newest<StoredDecision>> {
  const { sql, values } = inForceIn(db.dialect, run, ORDERED, rule);
  const ids = (await db.reading(db.all<{ id: string }>(`SELECT id FROM ${sql} ORDER BY ${ORDER}`, ...values))).map(
    ({ id }) => id,
  );
  const from = after === undefined ? 0 : ids.indexOf(after) + 1;
  const isUnknown = after !== undefined && from === 0;
  return { rows: await decisionsById(db, isUnknown ? [] : ids.slice(from, from + limit)), total: ids.length };
}

export function decisionsById(db: Db, ids: readonly string[]): Promise<StoredDecision[]> {
  const sql =
    'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key';
  const found = ids.map((id) => ({ id }));
  return readInTurns(found, async (some) => (await db.reading(db.all(sql, JSON.stringify(some)))).map(decisionOfRow));
}
