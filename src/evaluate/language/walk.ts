// evaluate: walks over a condition's tree: its parts, the facts it reads, and one text for one meaning.
// In: an expression. Out: parts, facts, keys. It knows no operator: these say what is special about them.
import type { Fact } from '../../domain/facts.ts';
import type { Expression, FactRef } from './expression.ts';

/** The direct parts of an expression; bodies of `some`, `map`, … included. */
export function partsOf(expression: Expression): readonly Expression[] {
  if (expression.op === 'call') return expression.args;
  return expression.op === 'list' ? expression.items : [];
}

/** The direct parts that are asked once, not once for each element. */
export function outerPartsOf(expression: Expression): readonly Expression[] {
  const body = expression.op === 'call' ? expression.operator.body?.arg : undefined;
  return partsOf(expression).filter((_, index) => index !== body);
}

/** Calls `visit` for an expression and all its parts. */
export function walk(expression: Expression, visit: (part: Expression) => void): void {
  visit(expression);
  for (const part of partsOf(expression)) walk(part, visit);
}

/** One text for one meaning: equal keys, equal conditions. Places and wording are left out. */
export function keyOf(expression: Expression): string {
  switch (expression.op) {
    case 'literal':
      return `L${literalKey(expression.value)}`;
    case 'fact':
      return `F${expression.fact.key}`;
    case 'item':
      return `I${JSON.stringify(expression.path)}${literalKey(expression.fallback ?? null)}${expression.type.kind}`;
    case 'now':
      return 'N';
    case 'list':
      return `[${expression.items.map(keyOf).join(',')}]`;
    case 'call': {
      const { operator, args } = expression;
      const keys = args.map(keyOf);
      return operator.key?.(keys) ?? `(${operator.name} ${keys.join(' ')})`;
    }
  }
}

export function literalKey(value: Fact): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? { big: `${part}` } : part));
}

/** Read when a condition first asks for it, and not with the record: a count, the past, a part of what is joined, what the lists do not have. */
export function isReadLate(fact: FactRef): boolean {
  return fact.kind !== 'path' || fact.lost !== undefined || fact.path[0]?.startsWith('$') === true;
}

/** All facts that an expression reads, each once. */
export function factsIn(expression: Expression): FactRef[] {
  const facts = new Map<string, FactRef>();
  walk(expression, (part) => {
    if (part.op === 'fact') facts.set(part.fact.key, part.fact);
  });
  return [...facts.values()];
}

/** Whether its value depends on the element that a loop around it is at. */
export function readsItem(expression: Expression): boolean {
  if (expression.op === 'item') return true;
  if (expression.op === 'call' && expression.operator.looksIn === 'item') return true;
  return outerPartsOf(expression).some(readsItem);
}
