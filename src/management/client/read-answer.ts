// management client: the value of a read's complete answer. In: an answer of any status. Out: its JSON value with exact
// integers, or an AppError that names what is wrong.
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { isFacts } from '../../domain/facts.ts';
import { parseExact } from '../contract/exact-json.ts';
import type { Head } from './exchange.ts';
import { causeOf, type FaultCause, problem, type Subject } from './fault.ts';
import { jsonTextOf } from './json-text.ts';
import type { Redactor } from './redactor.ts';
import type { Answer } from './transport.ts';

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
