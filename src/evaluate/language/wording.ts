// evaluate: how operands are written in messages, reasons and explanations. In: an expression. Out: a short text.
import { showLiteral } from '../../domain/literal-text.ts';
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
