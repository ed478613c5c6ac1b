// management client: one page of devices or users out of the forms that servers answer with.
// In: a parsed answer: a page, a page in the v2 envelope, or a bare list. Out: records and the total. Records are not
// checked one by one: this is the engine's hottest path, and pull judges each of them anyway.
import { isFacts } from '../../domain/facts.ts';
import type { Page } from '../../domain/ports.ts';
import { problem, type Subject } from './fault.ts';
import type { Redactor } from './redactor.ts';

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
