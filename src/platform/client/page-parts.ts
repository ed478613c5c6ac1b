// management client: one page of devices or users, parsed part by part as its records are read. In: a complete answer.
// Out: lists of some forty records, each with its bytes, and at the end the total: only that many of a thousand are objects
// at a time. The cuts are guesses that parsing proves: a wrong one only costs time.
import { isAscii } from 'node:buffer';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { isFacts } from '../../domain/facts.ts';
import type { RecordBatch } from '../../domain/lists.ts';
import type { Page } from '../../domain/ports.ts';
import { parseExact } from '../contract/exact-json.ts';
import { causeOf, type FaultCause, problem, type Subject } from './fault.ts';
import type { Redactor } from './redactor.ts';
import type { Answer, Head } from './transport.ts';

// The bytes of a JSON document as text of one byte per character, which parses in half the time.

/** A block is mostly all ASCII, which is checked faster than byte by byte. */
const BLOCK = 1_024;
const BEYOND_ASCII = /[\x80-\xff]+/g;
const ESCAPED_BEYOND_ASCII = /\\[\x80-\xff]/;

/** Like `bytes.toString('utf8')` for a parser: a broken sequence of bytes is U+FFFD. */
export function jsonTextOf(bytes: Buffer): string {
  let text = '';
  let done = 0;
  for (let at = 0; at < bytes.length; ) {
    let end = Math.min(at + BLOCK, bytes.length);
    if (!isAscii(bytes.subarray(at, end))) {
      while (end < bytes.length && (bytes[end] as number) >= 0x80) end++; // no sequence is cut in two
      // With the byte before, which may be the backslash of an escape.
      const from = Math.max(done, at - 1);
      const block = bytes.toString('latin1', from, end);
      if (ESCAPED_BEYOND_ASCII.test(block)) return bytes.toString('utf8');
      text += bytes.toString('latin1', done, from) + block.replace(BEYOND_ASCII, escapeAll);
      done = end;
    }
    at = end;
  }
  return text + bytes.toString('latin1', done, bytes.length);
}

function escapeAll(latin1: string): string {
  const characters = Buffer.from(latin1, 'latin1').toString('utf8');
  let escaped = '';
  for (let index = 0; index < characters.length; index++) {
    escaped += `\\u${characters.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}

/** White space between the tokens of JSON. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

// One page of devices or users out of the forms that servers answer with.

/** Errors: AppError `api_answer`, cause `garbage` or `error_code`. A list that is null or absent is empty. */
export function pageOf(about: Subject, value: unknown, listName: string, redactor: Redactor): Page {
  if (Array.isArray(value)) return { records: value, total: undefined };
  if (!isFacts(value)) throw notAPage(about);
  if (Object.hasOwn(value, 'error_code')) refuseErrorCode(about, value, redactor);
  if (Object.hasOwn(value, 'data')) return pageOf(about, value.data ?? {}, listName, redactor);
  const hasList = Object.hasOwn(value, listName);
  if (!hasList && !Object.hasOwn(value, 'count') && Object.keys(value).length > 0) throw notAPage(about);
  const records = hasList ? (value[listName] ?? []) : [];
  if (!Array.isArray(records)) throw notAPage(about);
  return { records, total: totalOf(about, value.count) };
}

/** Throws an AppError `api_answer`, cause `error_code`, for an envelope that reports an error. */
export function refuseErrorCode(about: Subject, envelope: { [key: string]: unknown }, redactor: Redactor): void {
  const code = envelope.error_code;
  if (code === undefined || code === null || Number(code) === 0) return;
  const message = redactor.clean(String(envelope.error_description ?? envelope.error ?? ''));
  const words = `the server reports error_code ${redactor.clean(String(code), 20)}${message === '' ? '' : `: ${message}`}`;
  throw problem('api_answer', about, 'error_code', words);
}

function totalOf(about: Subject, count: unknown): number | undefined {
  if (count === undefined || count === null) return undefined;
  const total = typeof count === 'string' && /^\d{1,15}$/.test(count) ? Number(count) : count;
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total;
  throw problem('api_answer', about, 'garbage', 'the `count` of the answer is not a whole number');
}

function notAPage(about: Subject): Error {
  return problem('api_answer', about, 'garbage', 'the answer is not a page of a list; is the API address right?');
}

// The value of a read's complete answer.

/** The value of a 200 answer; undefined for an empty body. Errors: as `refuseStatus`, and `api_answer`. */
export function readValue(about: Subject, answer: Answer, redactor: Redactor): unknown {
  refuseStatus(about, answer, answer.body, redactor);
  return parseBody(about, answer, answer.body);
}

/** Errors: AppError `api_refused`, `api_forbidden`, `api_answer` for every status but 200. */
export function refuseStatus(about: Subject, head: Head, body: Buffer, redactor: Redactor): void {
  const { status } = head;
  if (status === 200) return;
  if (status >= 300 && status < 400) {
    const words = `the answer is a redirect (${status}): give the API address that it leads to`;
    throw problem('api_answer', about, 'redirect', words);
  }
  const [code, cause, meaning] = meaningOf(status);
  const message = redactor.clean(messageOf(body));
  throw problem(code, about, cause, message === '' ? meaning : `${meaning}: ${message}`, { status });
}

function meaningOf(status: number): [ErrorCode, FaultCause, string] {
  switch (status) {
    case 401:
      return ['api_refused', 'refused', 'the credential was refused (401)'];
    case 403:
      return ['api_forbidden', 'forbidden', 'not allowed for this credential or edition (403)'];
    case 404:
      return ['api_answer', 'status', 'there is nothing at this address (404); is the API address right?'];
    default:
      return ['api_answer', 'status', `the server answered ${status}`];
  }
}

/** A server's text about an error, in either spelling; empty when it has nothing readable. */
export function messageOf(body: Buffer): string {
  let value: unknown;
  try {
    value = parseExact(body.toString('utf8'));
  } catch {
    return ''; // a page of HTML is no help
  }
  if (typeof value === 'string') return value;
  if (!isFacts(value)) return '';
  const messages = [value.Message, value.error_description, value.error, value.message];
  return messages.find((each): each is string => typeof each === 'string' && each !== '') ?? '';
}

/** The JSON of a body, or of a part of it, with exact integers; undefined for an empty one. Errors: AppError `api_answer`: `garbage`, `truncated`, … */
export function parseBody(about: Subject, head: Head, body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const text = jsonTextOf(hasByteOrderMark(body) ? body.subarray(3) : body);
  try {
    return parseExact(text);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const cause = causeOf(error) ?? 'garbage';
    if (cause === 'garbage' && isCutOff(text)) {
      throw problem('api_answer', about, 'truncated', 'the answer ended before it was complete');
    }
    throw problem('api_answer', about, cause, `the answer cannot be used: ${error.message}${mediaWords(head)}`);
  }
}

function hasByteOrderMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/** Without a declared length a cut connection looks like an end; an unclosed list or object reveals it. */
function isCutOff(text: string): boolean {
  const [first, last] = [text.trimStart()[0], text.trimEnd().at(-1)];
  return (first === '[' && last !== ']') || (first === '{' && last !== '}');
}

function mediaWords(head: Head): string {
  const media = /^[\w.+-]+\/[\w.+-]+/.exec(head.headers['content-type'] ?? '')?.[0];
  return media === undefined || media.includes('json') ? '' : ` (it is \`${media}\`); is the API address right?`;
}

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
