// store: documents in columns. In: the text of a column. Out: the value that was written. SQLite does not check the content of its
// pages: a document that the disk has damaged is reported as damage, not as a fault of the reader.

import { giveWay } from '../base/turns.ts';
import type { StoreFaultKind } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import type { Db, Row, Work } from './queries.ts';

/** Errors: AppError `store_damaged`. */
export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T;
  } catch (error) {
    const message = 'the database is damaged: a value in it is not what was written: restore a backup';
    throw new AppError('store_damaged', message, { cause: error, detail: 'corrupt' satisfies StoreFaultKind });
  }
}

// A long list in a column, read in turns: a plan of ten thousand intents is one document, and parsing it at once would
// keep stop and probes waiting.

/** Characters between two turns: a few milliseconds. A shorter text is parsed at once. */
const TURN_CHARACTERS = 262_144;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Errors: AppError `store_damaged`. */
export async function storedList<T>(text: string, rest: () => Promise<void> = giveWay): Promise<T[]> {
  if (text.length <= TURN_CHARACTERS) return storedJson<T[]>(text);
  const items: T[] = [];
  let depth = 0;
  let from = 1;
  let rested = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (OPENING.has(code)) depth += 1;
    else if (CLOSING.has(code)) depth -= 1;
    if ((depth !== 1 || code !== COMMA) && depth !== 0) continue;
    items.push(storedJson<T>(text.slice(from, at)));
    from = at + 1;
    if (from - rested < TURN_CHARACTERS) continue;
    rested = from;
    await rest();
  }
  return depth === 0 ? items : storedJson<T[]>(text); // it is cut: parsing it names the damage
}

/** The index of the closing quote; the end of the text without one, which is damage that parsing names. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

// The intents of plans. In: a row of `plans`, whose list has an intent, or the number of the shared row that has it
// (`save-plan.ts`). Out: the whole intents; shared rows that no plan has any longer are removed. INVARIANT: what writes
// is called inside a transaction.

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

/** Plans whose lists may have numbers: an answered plan has its own intents. What it had earlier is kept as it was. */
const SHARED_BY = `SELECT CAST(one.value AS BIGINT) FROM plans, json_each(plans.intents) AS one
  WHERE substr(plans.intents, 1, 1) = '[' AND substr(plans.intents, 2, 1) BETWEEN '0' AND '9' AND (
    status IN ('pending', 'expired') OR status = 'superseded' AND dropped IS NULL)
  UNION ALL SELECT CAST(one.value AS BIGINT) FROM plan_revisions AS was, json_each(was.intents) AS one
  WHERE substr(was.intents, 2, 1) BETWEEN '0' AND '9'`;

/** Removes the shared rows of a list that no plan has any longer, and had. */
export function* removeUnshared(db: Db, intents: string): Work<void> {
  if (!isList(intents)) return;
  const sql = `DELETE FROM planned_intents WHERE no IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND no NOT IN (${SHARED_BY})`;
  yield* db.run(sql, intents);
}
