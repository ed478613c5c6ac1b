// evaluate: JSON Logic as written → a typed expression. This file checks values and lists, and calls the check of each operator.
// Every problem is reported to the scope with its place. The expression returned then only serves further checks.

import { type Fact, isFacts } from '../../domain/facts.ts';
import type { Expression } from '../language/expression.ts';
import { didYouMean } from '../language/nearest-name.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, BOOLEAN, NUMBER, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { type Operands, refuse, type Scope } from './scope.ts';
import { settle, unify } from './types.ts';

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
  const operator = scope.language.get(name);
  if (!operator) {
    return refuse(
      scope,
      'operator',
      [...place, name],
      `unknown operator \`${name}\`${didYouMean(name, scope.language.keys())}`,
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

/** Checks an expression in a boolean position: booleans, or lists (true when not empty). */
export function checkCondition(raw: Fact, place: Place, scope: Scope): Expression {
  const expression = settle(check(raw, place, scope), BOOLEAN);
  const { kind } = expression.type;
  if (kind === 'boolean' || kind === 'condition' || kind === 'list' || kind === 'refused') return expression;
  const name = nameOf(expression);
  if (kind === 'flag') {
    const fact = expression.op === 'fact' && expression.fact.kind === 'path' ? expression.fact.label : '…';
    const path = expression.op === 'item' ? expression.label : fact;
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
      '`null` is not a value here; to handle absence, write `missing` or {"var": ["path", default]}',
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
