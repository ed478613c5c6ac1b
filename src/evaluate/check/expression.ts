// evaluate: JSON Logic as written → a typed expression. This file: values, lists, and which operator's check is asked.
// Everything that is wrong is reported to the scope with its place; what is returned then is only fit for more checking.

import { type Fact, isFacts } from '../../domain/facts.ts';
import type { Expression } from '../language/expression.ts';
import { didYouMean } from '../language/nearest-name.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, BOOLEAN, NUMBER, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { type Operands, refuse, type Scope } from './scope.ts';

export const DEPTH_MAX = 32;
export const NODES_MAX = 1_000;

/** Checks one expression. Its depth and size were measured before (`measure`). */
export function check(raw: Fact, place: Place, scope: Scope): Expression {
  if (Array.isArray(raw)) return checkList(raw, place, scope);
  if (!isFacts(raw)) return checkLiteral(raw, place, scope);
  const names = Object.keys(raw);
  const name = names[0];
  if (name === undefined) return refuse(scope, 'operator', place, 'expected an operator, found an empty object');
  if (names.length > 1) {
    const listed = names.slice(0, 4).map((each) => `\`${each}\``);
    return refuse(
      scope,
      'operator',
      place,
      `expected one operator in an object, found ${listed.join(', ')}; join them with \`and\``,
    );
  }
  const operator = scope.operators.get(name);
  if (!operator) {
    return refuse(
      scope,
      'operator',
      [...place, name],
      `unknown operator \`${name}\`${didYouMean(name, scope.operators.keys())}`,
    );
  }
  const written = raw[name] as Fact;
  const args = Array.isArray(written) ? written : [written];
  const operands: Operands = {
    name,
    args,
    place: [...place, name],
    placeOf: (index) => (Array.isArray(written) ? [...place, name, index] : [...place, name]),
  };
  if (args.length < operator.min || args.length > operator.max) {
    const wanted =
      operator.min === operator.max
        ? `${operator.min}`
        : operator.max > 100
          ? `at least ${operator.min}`
          : `${operator.min} to ${operator.max}`;
    return refuse(
      scope,
      'operator',
      operands.place,
      `\`${name}\` takes ${wanted} operand${wanted === '1' ? '' : 's'}, found ${args.length}; ${operator.usage}`,
    );
  }
  return operator.check(operands, scope);
}

/** Checks what stands in a boolean position: booleans, or lists (true when not empty). */
export function checkCondition(raw: Fact, place: Place, scope: Scope): Expression {
  const expression = settle(check(raw, place, scope), BOOLEAN);
  const { kind } = expression.type;
  if (kind === 'boolean' || kind === 'condition' || kind === 'list' || kind === 'refused') return expression;
  const name = nameOf(expression);
  if (kind === 'flag') {
    const path = expression.op === 'fact' ? expression.fact.label : expression.op === 'item' ? expression.label : '…';
    const message = `${name} is a flag, the text "TRUE" or "FALSE", and every text would count as true; write {"==": [{"var": "${path}"}, "TRUE"]}`;
    return refuse(scope, 'type', place, message);
  }
  const hint = kind === 'text' ? 'compare it with `==` or `in`' : 'compare it with `==`, `<` or `>`';
  return refuse(
    scope,
    'type',
    place,
    `expected a boolean or a list, but ${name} is ${typeName(expression.type)}; ${hint}`,
  );
}

function checkLiteral(value: Exclude<Fact, Fact[] | { [key: string]: Fact }>, place: Place, scope: Scope): Expression {
  if (value === null) {
    return refuse(
      scope,
      'type',
      place,
      '`null` is the value of nothing here; absence is said with `missing` or {"var": ["path", default]}',
    );
  }
  if (typeof value === 'string') return { op: 'literal', value, type: TEXT, place };
  if (typeof value === 'boolean') return { op: 'literal', value, type: BOOLEAN, place };
  return { op: 'literal', value, type: NUMBER, place };
}

function checkList(raw: readonly Fact[], place: Place, scope: Scope): Expression {
  const items = raw.map((item, index) => check(item, [...place, index], scope));
  let of: ValueType = ANY;
  for (const item of items) {
    const both = unify(of, item.type);
    if (!both) {
      return refuse(
        scope,
        'type',
        item.place,
        `a list holds values of one type: expected ${typeName(of)}, but ${nameOf(item)} is ${typeName(item.type)}`,
      );
    }
    of = both;
  }
  return { op: 'list', items: items.map((item) => settle(item, of)), type: { kind: 'list', of }, place };
}

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

/** Gives an operand of unknown type the type that its use expects: what is not of it will be unknown. */
export function settle(expression: Expression, wanted: ValueType): Expression {
  if (expression.type.kind !== 'any' || wanted.kind === 'any' || wanted.kind === 'refused') return expression;
  const type: ValueType = wanted.kind === 'condition' ? BOOLEAN : wanted;
  if (expression.op === 'fact' && expression.fact.kind === 'path') {
    return { ...expression, type, fact: { ...expression.fact, type, key: `${expression.fact.key} as ${type.kind}` } };
  }
  return { ...expression, type };
}

/** Why a condition is too deep or too large, or undefined. Iterative: the value may be nested without bound. */
export function measure(raw: Fact): string | undefined {
  let nodes = 0;
  const waiting: { value: Fact; depth: number }[] = [{ value: raw, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > DEPTH_MAX) return `nested deeper than ${DEPTH_MAX} operators`;
    if (!Array.isArray(value) && ++nodes > NODES_MAX) return `more than ${NODES_MAX} operators and values`;
    if (Array.isArray(value)) {
      // A list in a list is a level too, so that lists alone cannot nest without bound.
      for (const item of value) waiting.push({ value: item, depth: Array.isArray(item) ? depth + 1 : depth });
    } else if (isFacts(value)) {
      for (const item of Object.values(value)) waiting.push({ value: item, depth: depth + 1 });
    }
    if (waiting.length > 10 * NODES_MAX) return `more than ${NODES_MAX} operators and values`;
  }
  return undefined;
}
