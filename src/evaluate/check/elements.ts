// evaluate: checks an operand that must be a list, and what a condition on its elements can see.
// In: the list as written, or checked. Out: a list, and a scope in which only the element can be read.
import type { Fact } from '../../domain/facts.ts';
import type { Expression } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, listOf, typeName, type ValueType } from '../record-types/field-types.ts';
import { check } from './expression.ts';
import { refuse, type Scope } from './scope.ts';
import { settle } from './types.ts';

/** The list, and the type of its elements; undefined when it was refused. */
export function checkListOperand(
  raw: Fact | undefined,
  place: Place,
  name: string,
  scope: Scope,
): { list: Expression; of: ValueType } | undefined {
  const list = settle(check(raw ?? null, place, scope), listOf(ANY));
  if (list.type.kind === 'list') return { list, of: list.type.of };
  if (list.type.kind !== 'refused')
    refuse(scope, 'type', list.place, `\`${name}\` takes a list, but ${nameOf(list)} is ${typeName(list.type)}`);
  return undefined;
}

/** The scope of a loop's body. */
export function insideOf(list: Expression, item: ValueType, scope: Scope): Scope {
  return { ...scope, item, itemSource: sourceOf(list) };
}

/** Which source the elements are whole records of. */
function sourceOf(list: Expression): 'users' | 'devices' | undefined {
  if (list.op === 'fact' && list.fact.kind === 'path' && list.fact.path.length === 1) {
    if (list.fact.path[0] === '$owners') return 'users';
    if (list.fact.path[0] === '$devices') return 'devices';
  }
  if (list.op !== 'call') return undefined;
  const lists = list.operator.elementsOf?.(list.args) ?? [];
  return lists.map(sourceOf).find((source) => source !== undefined);
}
