// evaluate: how operands and literals are written in messages, reasons and explanations.
// In: an expression or a value. Out: a short text. Long literals are cut.
import type { Fact } from '../../domain/facts.ts';
import type { Expression } from './expression.ts';

/** How an operand is named in messages: its path when it is one. */
export function nameOf(expression: Expression): string {
  if (expression.op === 'fact') return `\`${expression.fact.label}\``;
  if (expression.op === 'item') return expression.label ? `\`${expression.label}\`` : 'the element';
  if (expression.op === 'literal') return `\`${showLiteral(expression.value)}\``;
  if (expression.op === 'now') return '`$now`';
  if (expression.op === 'call') return `the result of \`${expression.operator.name}\``;
  return 'this';
}

export function showLiteral(value: Fact): string {
  if (typeof value === 'bigint') return `${value}`;
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'null';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
