// history: the JSON text of a fact, exact. In: a fact, or its text. Out: the other of the two, equal in every digit: integers beyond 2^53 are
// whole numbers in the text and bigints as facts; a number beyond all types is `1e999`. Never: a rounded integer.
import type { Fact } from '../domain/facts.ts';
import { parseExact } from '../management/contract/exact-json.ts';

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

/** Errors: AppError `api_answer` when it is no JSON. */
export function factOf(text: string): Fact {
  return parseExact(text) as Fact;
}

/** A whole number with an exponent is read as a number, never as a bigint. */
function numberText(value: number): string {
  if (Number.isFinite(value)) {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value);
  }
  return value > 0 ? '1e999' : '-1e999';
}

function membersText(value: { [key: string]: Fact }): string {
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${factText(member)}`);
  return `{${members.join(',')}}`;
}
