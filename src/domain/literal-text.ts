// domain: how a value is written in messages, reasons and explanations. In: a value. Out: a short text. Long ones are cut.
import type { Fact } from './facts.ts';

export function showLiteral(value: Fact): string {
  if (typeof value === 'bigint') return `${value}`;
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'null';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
