// evaluate: an expression as one line of text, for people: `MdmData.CompromisedStatus == "TRUE"`.

import type { Expression } from './expression.ts';
import { showLiteral } from './wording.ts';

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
    case 'compare':
      return expression.args.map(inBrackets).join(` ${expression.by} `);
    case 'matches':
      return `${inBrackets(expression.arg)} matches ${JSON.stringify(expression.pattern)}`;
    case 'missing':
      return `${expression.need === undefined ? 'missing' : `missing_some ${expression.need} of`} ${textOf(expression.paths)}`;
    case 'each':
      return `${expression.name}(${textOf(expression.list)}, ${textOf(expression.body)})`;
    case 'reduce':
      return `reduce(${textOf(expression.list)}, ${textOf(expression.body)}, ${textOf(expression.start)})`;
    case 'call':
      return callText(expression.name, expression.args);
  }
}

const INFIX = new Set(['and', 'or', 'in', '+', '-', '*', '/', '%', 'starts_with', 'ends_with', 'in_group']);

function callText(name: string, args: readonly Expression[]): string {
  if (name === '!') return `not ${inBrackets(args[0] as Expression)}`;
  if (name === '!!') return textOf(args[0] as Expression);
  if (INFIX.has(name) && args.length > 1) return args.map(inBrackets).join(` ${name} `);
  const versions: Record<string, string> = { version_lt: '<', version_lte: '<=', version_gt: '>', version_gte: '>=' };
  if (versions[name]) return `version ${args.map(inBrackets).join(` ${versions[name]} `)}`;
  return `${name}(${args.map(textOf).join(', ')})`;
}

function inBrackets(expression: Expression): string {
  const text = textOf(expression);
  const plain = ['literal', 'fact', 'item', 'now', 'list', 'each', 'reduce'].includes(expression.op);
  return plain || (expression.op === 'call' && !text.includes(' ')) || (expression.op === 'call' && /^\w+\(/.test(text))
    ? text
    : `(${text})`;
}

function withDefault(label: string, fallback: Parameters<typeof showLiteral>[0] | undefined): string {
  return fallback === undefined ? label : `(${label} or ${showLiteral(fallback)})`;
}
