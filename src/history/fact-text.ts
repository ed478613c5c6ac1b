// history: the JSON text of a fact, exact. In: a fact, or its text. Out: the other of the two, equal in every digit: integers beyond 2^53 are
// whole numbers in the text and bigints as facts; a number beyond all types is `1e999`. Never: a rounded integer.
import type { Fact } from '../domain/facts.ts';
import { parseExact } from '../platform/contract/exact-json.ts';

export function factText(value: Fact): string {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'number':
      return numberText(value);
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? `[${value.map(factText).join(',')}]` : membersText(value);
    default:
      return JSON.stringify(value);
  }
}

/** The same of nouns of ours: members that are undefined are left out. */
export function dataText(value: unknown): string {
  return factText(value as Fact);
}

/** Errors: AppError `api_answer` when it is no JSON. */
export function factOf(text: string): Fact {
  if (PLAIN_TEXT.test(text)) return text.slice(1, -1);
  if (SHORT.test(text)) return JSON.parse(text);
  return LONG.test(text) ? BigInt(text) : (parseExact(text) as Fact);
}

/** Nothing in it is escaped, nor can it pass for a number. */
const PLAIN_TEXT = /^"[^"\\\x7f]*"$/;
/** No digit can be lost. */
const SHORT = /^(?:true|false|null|-?\d{1,15})$/;
/** Beyond what a number holds: most times are in nanoseconds. */
const LONG = /^-?[1-9]\d{16,19}$/;

/**
 * In the place of a secret, which is not recorded. No fact has this text: an object is recorded as a whole only when it is empty, or when a key in
 * it has a dot or no name.
 */
export const SECRET_TEXT = '{"$secret":true}';

/** A whole number with an exponent is read as a number, never as a bigint. */
function numberText(value: number): string {
  if (Number.isFinite(value)) {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value);
  }
  return value > 0 ? '1e999' : '-1e999';
}

function membersText(value: { [key: string]: Fact }): string {
  const members = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [`${JSON.stringify(key)}:${factText(member)}`],
  );
  return `{${members.join(',')}}`;
}
