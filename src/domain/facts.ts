// domain: the data that rules read, as it came from the API: unknown fields kept, 19-digit integers exact (bigint).

/** One JSON value of a record. An integer outside ±(2^53 − 1) is a bigint, so that no digit is lost. */
export type Fact = string | number | bigint | boolean | null | Fact[] | { [key: string]: Fact };

/** Making a bigint of a million digits takes a second. A longer number is ±Infinity, as one with a large exponent is. */
export const DIGITS_MAX = 400;

/** A number that the API wrote and no type can hold: it has no type, so that a fact of it is unknown. */
export function isBeyondTypes(value: Fact | undefined): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

/** One record, by the API's own field names. */
export type Facts = { [key: string]: Fact };

export function isFacts(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own property of a record, or undefined. Never reads a prototype: a record is hostile input. */
export function own(record: Fact | undefined, key: string): Fact | undefined {
  return isFacts(record) && Object.hasOwn(record, key) ? record[key] : undefined;
}

export function ownText(record: Fact | undefined, key: string): string | undefined {
  const value = own(record, key);
  return typeof value === 'string' ? value : undefined;
}

export function ownTexts(record: Fact | undefined, key: string): string[] | undefined {
  const value = own(record, key);
  if (!Array.isArray(value)) return undefined;
  return value.filter((item): item is string => typeof item === 'string');
}

export function showLiteral(value: Fact): string {
  if (typeof value === 'bigint') return `${value}`;
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'null';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

const ENTITIES: Record<string, string> = { quot: '"', '#34': '"', '#39': "'", apos: "'", lt: '<', gt: '>', amp: '&' };

export function unescapeHtml(text: string): string {
  return text.replace(/&(quot|#34|#39|apos|lt|gt|amp);/g, (_, name: string) => ENTITIES[name] ?? '');
}

const INTEGER = new RegExp(`^-?\\d{1,${DIGITS_MAX}}$`);

/** Integers of 19 digits stay exact. A number of more than 400 digits is ±Infinity. */
export function exactNumber(digits: string): number | bigint {
  const value = Number(digits);
  return INTEGER.test(digits) && !Number.isSafeInteger(value) ? BigInt(digits) : value;
}
