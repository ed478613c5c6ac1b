// management client: one page of devices or users, parsed part by part as its records are read. In: a complete answer.
// Out: lists of some forty records, each with its bytes, and at the end the total: only that many of a thousand are objects
// at a time. The cuts are guesses that parsing proves: a wrong one only costs time.
import { AppError } from '../../domain/errors.ts';
import type { RecordBatch } from '../../domain/list-piece.ts';
import type { Page } from '../../domain/ports.ts';
import { parseExact } from '../contract/exact-json.ts';
import { problem, type Subject } from './fault.ts';
import { jsonTextOf } from './json-text.ts';
import { pageOf } from './page-answer.ts';
import { parseBody, refuseStatus } from './read-answer.ts';
import type { Redactor } from './redactor.ts';
import type { Answer } from './transport.ts';

/** Lists of records, none of them empty; at the end the total. Throws an AppError as `refuseStatus`, `parseBody` and `pageOf`. */
export type PageParts = Generator<RecordBatch, number | undefined>;

/** Text up to this length is still allocated where short-lived text costs nothing. */
const PART_BYTES = 32_768;
const HEAD_BYTES_MAX = 1_024;

export function* partsOfPage(about: Subject, answer: Answer, listName: string, redactor: Redactor): PageParts {
  refuseStatus(about, answer, answer.body, redactor);
  const { body } = answer;
  const list = body.length > 2 * PART_BYTES ? listIn(body, listName) : undefined;
  const start = list ? yield* partsFrom(body, list.from, list.between) : 0;
  const isRest = list !== undefined && start > list.from;
  const rest = isRest ? Buffer.concat([body.subarray(0, list.from), NOTHING, body.subarray(start)]) : body;
  const { records, total } = pageOf(about, parseBody(about, answer, rest), listName, redactor);
  if (isRest && records.shift() !== null) throw namedTwice(about);
  if (records.length > 0) yield { records, bytes: isRest ? body.subarray(start) : body };
  return total;
}

/** Elements with commas between them, without the brackets of their list. Throws an AppError `api_answer` when they are none. */
export function* partsOfElements(about: Subject, elements: Buffer): Generator<RecordBatch, void> {
  const between = betweenElements(elements.toString('latin1', 0, FIRST_KEY_MAX));
  const start = between ? yield* partsFrom(elements, 0, between) : 0;
  const bytes = elements.subarray(start);
  const records = listOrNothing(bytes);
  if (records === undefined)
    throw problem('api_answer', about, 'garbage', 'the answer cannot be used: it is not valid JSON');
  yield { records, bytes };
}

/** Lists of elements from `from` on, as long as they can be cut off. Returns where the rest begins. */
function* partsFrom(body: Buffer, from: number, between: Buffer): Generator<RecordBatch, number> {
  let start = from;
  for (;;) {
    const end = body.indexOf(between, start + PART_BYTES) + 1;
    // Valid JSON up to a comma: it is between two elements. Otherwise it is within one, or nothing is JSON.
    const bytes = body.subarray(start, Math.max(start, end));
    const records = end > 0 ? listOrNothing(bytes) : undefined;
    if (records === undefined) return start;
    yield { records, bytes };
    start = end + 1;
  }
}

export function wholePage(parts: PageParts): Page {
  const records: unknown[] = [];
  let step = parts.next();
  for (; !step.done; step = parts.next()) for (const record of step.value.records) records.push(record);
  return { records, total: step.value };
}

/** Stands for the elements that were parsed before. */
const NOTHING = Buffer.from('null,');

/**
 * Where the elements of a page's list begin, and what stands between two of them. Before it are no backslashes and whole
 * strings alone, so that its bracket opens a list. So the answer is valid JSON when its parts are, each as a list of its own, and
 * what is left of it without them; the list holds the elements of all.
 */
function listIn(body: Buffer, name: string): { from: number; between: Buffer } | undefined {
  const from = body.subarray(0, HEAD_BYTES_MAX).indexOf('[') + 1;
  const head = body.toString('latin1', 0, from);
  const between = betweenElements(body.toString('latin1', from, from + FIRST_KEY_MAX));
  if (!between || (head !== '[' && !head.endsWith(`"${name}":[`))) return undefined;
  if (head.includes('\\') || head.split('"').length % 2 === 0) return undefined;
  return { from, between };
}

const FIRST_KEY_MAX = 70;

/** What stands between two elements of a list that begins so: all of its elements begin with the same key. */
export function betweenElements(beginning: string): Buffer | undefined {
  const first = /^\{"[\w.-]{1,60}":/.exec(beginning);
  return first ? Buffer.from(`},${first[0]}`) : undefined;
}

function listOrNothing(elements: Buffer): unknown[] | undefined {
  try {
    return parseExact(`[${jsonTextOf(elements)}]`) as unknown[];
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Of two lists with one name the later counts; no server has reason to send both. */
function namedTwice(about: Subject): Error {
  return problem('api_answer', about, 'garbage', 'the answer names its list twice');
}
