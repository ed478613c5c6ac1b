// store: the intents of plans. In: a row of `plans`, whose list has an intent, or the number of the shared row that has it (`save-plan.ts`).
// Out: the whole intents; shared rows that no plan has any longer are removed. INVARIANT: what writes is called inside a transaction.
import { giveWay } from '../domain/give-way.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import type { Db, Row, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';
import { storedList } from './stored-list.ts';

/** An intent, or the number of the shared row that has it. */
type StoredIntent = PlannedIntent | number;

const CONTENTS = 'SELECT no, content FROM planned_intents WHERE no IN (SELECT CAST(value AS BIGINT) FROM json_each(?))';
const AT_ONCE = 200;

/** The intents of a row of `plans`; it gives way in between. Errors: AppError `store_damaged`, also for a shared row that is missing. */
export async function intentsOfPlan(db: Db, row: Row): Promise<PlannedIntent[]> {
  const stored = await storedList<StoredIntent>(row.intents as string);
  // INVARIANT: all texts in one step: a shared row may be removed while another reader has its turn.
  const textOf = await db.reading(sharedTexts(db, stored));
  const intents: PlannedIntent[] = [];
  for (const [at, one] of stored.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await giveWay();
    intents.push(typeof one === 'number' ? storedJson(textOf(one)) : one);
  }
  return intents;
}

/** Whether one of its intents has one of these texts, as JSON: a plan of ten thousand intents is parsed only if it does. */
export function* hasText(db: Db, row: Row, texts: readonly string[]): Work<boolean> {
  const intents = row.intents as string;
  if (texts.some((text) => intents.includes(text))) return true;
  const sql = `SELECT 1 FROM json_each(?) AS one JOIN planned_intents ON planned_intents.no = CASE WHEN one.type = 'integer' THEN CAST(one.value AS BIGINT) END
    WHERE EXISTS (SELECT 1 FROM json_each(?) AS text WHERE instr(planned_intents.content, text.value) > 0)`;
  return isList(intents) && (yield* db.get(sql, intents, JSON.stringify(texts))) !== undefined;
}

/** A list with a number in it: other lists have their own texts. */
function isList(text: string): boolean {
  return /^\[\d/.test(text);
}

function* sharedTexts(db: Db, stored: readonly StoredIntent[]): Work<(no: number) => string> {
  const numbers = stored.filter((one) => typeof one === 'number');
  if (numbers.length === 0) return () => '';
  const texts = yield* db.all<{ no: number; content: string }>(CONTENTS, JSON.stringify(numbers));
  const shared = new Map(texts.map(({ no, content }) => [no, content]));
  return (no) => shared.get(no) ?? ''; // reading nothing as JSON names the damage
}

/** Plans whose lists may have numbers: an answered plan has its own intents. */
const SHARED_BY = `SELECT CAST(one.value AS BIGINT) FROM plans, json_each(plans.intents) AS one
  WHERE substr(plans.intents, 1, 1) = '[' AND substr(plans.intents, 2, 1) BETWEEN '0' AND '9' AND (
    status IN ('pending', 'expired') OR status = 'superseded' AND dropped IS NULL)`;

/** Removes the shared rows of a list that no plan has any longer. */
export function* removeUnshared(db: Db, intents: string): Work<void> {
  if (!isList(intents)) return;
  const sql = `DELETE FROM planned_intents WHERE no IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND no NOT IN (${SHARED_BY})`;
  yield* db.run(sql, intents);
}
