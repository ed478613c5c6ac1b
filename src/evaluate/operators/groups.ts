// evaluate: `in_group`: is a name among the groups, which come as one comma-separated text or as a list of names.
// In: a name alone (for the record's or element's own `Groups`), or a list and a name.
import type { Fact } from '../../domain/facts.ts';
import { check } from '../check/expression.ts';
import { factAt, resolvePath } from '../check/paths.ts';
import { call, type Operands, refuse, type Scope } from '../check/scope.ts';
import { isTextual, settle } from '../check/types.ts';
import type { Expression, ExpressionOf, Operator } from '../language/expression.ts';
import { FALSE, TRUE, Unknown } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { BOOLEAN, fieldAt, listOf, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import type { Family } from './family.ts';
import { infix } from './infix.ts';
import { compileInFact } from './membership.ts';

const IN_GROUP: Operator = {
  name: 'in_group',
  isForeign: true,
  isTotal: true,
  takesSteps: true,
  text: infix('in_group'),
  condition(args, compiling) {
    const [groups, name] = args as [Expression, ExpressionOf<'literal'>];
    if (groups.type.kind === 'list') return compileInFact(() => name.value, name, groups, compiling);
    const value = compiling.value(groups);
    return (frame) => {
      const text = value(frame);
      if (text instanceof Unknown) return text.truth;
      return (text as string).split(',').some((group) => group.trim() === name.value) ? TRUE : FALSE;
    };
  },
};

function checkInGroup({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const name = args[args.length - 1];
  if (typeof name !== 'string' || name.trim() === '' || name.includes(',')) {
    const message = 'expected the name of one group, written out as a text';
    return refuse(scope, 'type', placeOf(args.length - 1), message);
  }
  const groups =
    args.length === 2 ? settle(check(args[0] as Fact, placeOf(0), scope), listOf(TEXT)) : ownGroups(name, place, scope);
  if (groups.type.kind === 'refused') return groups;
  if (!holdsGroups(groups.type)) {
    const message = `\`in_group\` takes a list of groups, but ${nameOf(groups)} is ${typeName(groups.type)}`;
    return refuse(scope, 'type', groups.place, message);
  }
  return call(IN_GROUP, [groups, { op: 'literal', value: name.trim(), type: TEXT, place }], BOOLEAN, place);
}

function ownGroups(name: string, place: Operands['place'], scope: Scope): Expression {
  const field = fieldAt(scope.item ?? scope.root, ['Groups']);
  if (!field) {
    const message = `there are no \`Groups\` here; write {"in_group": [list, "${name}"]}, for a device inside {"some": [{"var": "$owners"}, …]}`;
    return refuse(scope, 'path', place, message);
  }
  resolvePath('Groups', place, scope);
  return factAt('Groups', field, undefined, place, scope);
}

function holdsGroups(type: ValueType): boolean {
  if (type.kind === 'list') return isTextual(type.of) || type.of.kind === 'any';
  return type.kind === 'text';
}

export const GROUPS: Family = {
  in_group: { min: 1, max: 2, usage: 'write it as "name" or [list, name]', check: checkInGroup },
};
