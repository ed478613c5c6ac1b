// evaluate: checks of `some`, `all`, `none`, `filter`, `map` and `reduce`: inside them, only the element can be read.

import type { EachName, Expression } from '../language/expression.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, BOOLEAN, listOf, recordOf, typeName, type ValueType } from '../record-types/field-types.ts';
import { check, checkCondition, settle, unify } from './expression.ts';
import { type Operands, refuse, refused, type Scope } from './scope.ts';

export function checkEach({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const list = settle(check(args[0] ?? null, placeOf(0), scope), listOf(ANY));
  if (list.type.kind !== 'list') return refuseList(list, name, place, scope);
  const inner: Scope = { ...scope, item: list.type.of, itemSource: sourceOf(list) };
  const each = name as EachName;
  const body =
    each === 'map' ? check(args[1] ?? null, placeOf(1), inner) : checkCondition(args[1] ?? null, placeOf(1), inner);
  if (body.type.kind === 'refused') return refused(place);
  const type: ValueType = each === 'map' ? listOf(body.type) : each === 'filter' ? list.type : BOOLEAN;
  return { op: 'each', name: each, list, body, type, place };
}

export function checkReduce({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const list = settle(check(args[0] ?? null, placeOf(0), scope), listOf(ANY));
  const start = check(args[2] ?? null, placeOf(2), scope);
  if (list.type.kind !== 'list') return refuseList(list, name, place, scope);
  if (start.type.kind === 'refused') return refused(place);
  const item = recordOf({ current: list.type.of, accumulator: start.type });
  const body = settle(check(args[1] ?? null, placeOf(1), { ...scope, item, itemSource: sourceOf(list) }), start.type);
  if (body.type.kind === 'refused') return refused(place);
  const type = unify(start.type, body.type);
  if (!type) {
    return refuse(
      scope,
      'type',
      placeOf(1),
      `\`reduce\` begins with ${typeName(start.type)}, but ${nameOf(body)} is ${typeName(body.type)}`,
    );
  }
  return { op: 'reduce', list, body, start, type, place };
}

function refuseList(list: Expression, name: string, place: Operands['place'], scope: Scope): Expression {
  if (list.type.kind === 'refused') return refused(place);
  return refuse(scope, 'type', list.place, `\`${name}\` takes a list, but ${nameOf(list)} is ${typeName(list.type)}`);
}

/** Which source the elements are whole records of. */
function sourceOf(list: Expression): 'users' | 'devices' | undefined {
  if (list.op === 'fact' && list.fact.kind === 'path' && list.fact.path.length === 1) {
    if (list.fact.path[0] === '$owners') return 'users';
    if (list.fact.path[0] === '$devices') return 'devices';
  }
  if (list.op === 'each' && list.name === 'filter') return sourceOf(list.list);
  if (list.op === 'call' && list.name === 'merge')
    return list.args.map(sourceOf).find((source) => source !== undefined);
  return undefined;
}
