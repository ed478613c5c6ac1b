// domain: JSON inside a text: some servers escape it as for a page, and its integers may exceed what a number holds.
import { DIGITS_MAX } from './facts.ts';

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
