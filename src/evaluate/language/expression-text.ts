// evaluate: an expression as one line of text, for people: `MdmData.CompromisedStatus == "TRUE"`.
// In: an expression. Out: its text; an operation is written as its operator wants it, else as `name(a, b)`.

import { showLiteral } from '../../domain/literal-text.ts';
import type { Expression } from './expression.ts';

export function textOf(expression: Expression): string {
  switch (expression.op) {
    case 'literal':
      return expression.text === undefined ? showLiteral(expression.value) : `"${expression.text}"`;
    case 'fact':
      return withDefault(expression.fact.label, expression.fact.kind === 'path' ? expression.fact.fallback : undefined);
    case 'item':
      return withDefault(expression.label === '' ? 'element' : `element.${expression.label}`, expression.fallback);
    case 'now':
      return '$now';
    case 'list':
      return `[${expression.items.map(textOf).join(', ')}]`;
    case 'call':
      return ownText(expression) ?? `${expression.operator.name}(${expression.args.map(textOf).join(', ')})`;
  }
}

function ownText(expression: Expression): string | undefined {
  return expression.op === 'call' ? expression.operator.text?.(expression.args, bracketed) : undefined;
}

/** In brackets when it is more than one word and no call. */
function bracketed(expression: Expression): string {
  const own = ownText(expression);
  if (own === undefined) return textOf(expression);
  return own.includes(' ') ? `(${own})` : own;
}

function withDefault(label: string, fallback: Parameters<typeof showLiteral>[0] | undefined): string {
  return fallback === undefined ? label : `(${label} or ${showLiteral(fallback)})`;
}
