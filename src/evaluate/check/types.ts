// evaluate: how types fit together while a condition is checked. In: types. Out: the one that holds both, or nothing.
import type { Expression } from '../language/expression.ts';
import { BOOLEAN, NUMBER, TEXT, type ValueType } from '../record-types/field-types.ts';

/** The type that holds both, or undefined. */
export function unify(a: ValueType, b: ValueType): ValueType | undefined {
  if (a.kind === 'any' || a.kind === 'refused') return b;
  if (b.kind === 'any' || b.kind === 'refused') return a;
  if (a.kind === 'time' && b.kind === 'time') return a.unit === b.unit ? a : undefined;
  if (a.kind === 'list' && b.kind === 'list') {
    const of = unify(a.of, b.of);
    return of && { kind: 'list', of };
  }
  if (a.kind === b.kind) return a.kind === 'text' && a.values ? b : a;
  if (isTextual(a) && isTextual(b)) return TEXT;
  if (isNumeric(a) && isNumeric(b)) return NUMBER;
  if (isTruth(a) && isTruth(b)) return { kind: 'condition' };
  return undefined;
}

export const isTextual = (type: ValueType): boolean => type.kind === 'text' || type.kind === 'flag';
export const isNumeric = (type: ValueType): boolean =>
  type.kind === 'number' || type.kind === 'score' || type.kind === 'seconds';
const isTruth = (type: ValueType): boolean => type.kind === 'boolean' || type.kind === 'condition';

/** Gives an operand of unknown type the type that its use expects. A value of another type will be unknown. */
export function settle(expression: Expression, wanted: ValueType): Expression {
  if (expression.type.kind !== 'any' || wanted.kind === 'any' || wanted.kind === 'refused') return expression;
  const type: ValueType = wanted.kind === 'condition' ? BOOLEAN : wanted;
  if (expression.op === 'fact' && expression.fact.kind !== 'events') {
    return { ...expression, type, fact: { ...expression.fact, type, key: `${expression.fact.key} as ${type.kind}` } };
  }
  return { ...expression, type };
}
