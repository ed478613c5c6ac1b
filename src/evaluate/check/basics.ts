// evaluate: checks of json-logic-js's own operators on booleans, numbers, texts and lists.
// In: operands as written. Out: typed calls; a `"TRUE"` in a boolean position or a text in a sum is a load error.

import type { CallName, Expression } from '../language/expression.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, BOOLEAN, listOf, NUMBER, REFUSED, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { checkKnownText } from './comparison.ts';
import { check, checkCondition, isNumeric, isTextual, settle, unify } from './expression.ts';
import { type Operands, refuse, refused, type Scope } from './scope.ts';

const call = (name: CallName, args: Expression[], type: ValueType, { place }: Operands): Expression =>
  args.some((arg) => arg.type.kind === 'refused') ? refused(place) : { op: 'call', name, args, type, place };

export function checkLogic(operands: Operands, scope: Scope): Expression {
  const args = operands.args.map((arg, index) => checkCondition(arg, operands.placeOf(index), scope));
  const type: ValueType = args.every((arg) => arg.type.kind === 'boolean') ? BOOLEAN : { kind: 'condition' };
  return call(operands.name as 'and' | 'or', args, type, operands);
}

export function checkNot(operands: Operands, scope: Scope): Expression {
  const arg = checkCondition(operands.args[0] ?? null, operands.placeOf(0), scope);
  return call(operands.name as '!' | '!!', [arg], BOOLEAN, operands);
}

export function checkIf(operands: Operands, scope: Scope): Expression {
  const { args, placeOf, place } = operands;
  if (args.length % 2 === 0) {
    return refuse(
      scope,
      'operator',
      place,
      '`if` needs an else: without one its value would be nothing; write [condition, then, else]',
    );
  }
  const parts = args.map((arg, index) =>
    index % 2 === 0 && index < args.length - 1
      ? checkCondition(arg, placeOf(index), scope)
      : check(arg, placeOf(index), scope),
  );
  let type = ANY;
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0 && index < parts.length - 1) continue;
    const both = unify(type, part.type);
    if (!both)
      scope.problem(
        'type',
        part.place,
        `the results of \`if\` are of one type: expected ${typeName(type)}, but ${nameOf(part)} is ${typeName(part.type)}`,
      );
    type = both ?? REFUSED;
  }
  const settled = parts.map((part, index) => (index % 2 === 0 && index < parts.length - 1 ? part : settle(part, type)));
  return type.kind === 'refused' ? refused(place) : call('if', settled, type, operands);
}

export function checkLog(operands: Operands, scope: Scope): Expression {
  return check(operands.args[0] ?? null, operands.placeOf(0), scope);
}

export function checkIn(operands: Operands, scope: Scope): Expression {
  const [needleRaw, hayRaw] = operands.args;
  let needle = check(needleRaw ?? null, operands.placeOf(0), scope);
  let hay = check(hayRaw ?? null, operands.placeOf(1), scope);
  if (needle.type.kind === 'refused' || hay.type.kind === 'refused') return refused(operands.place);
  if (hay.type.kind === 'any') hay = settle(hay, isTextual(needle.type) ? listOf(TEXT) : listOf(needle.type));
  if (isTextual(hay.type)) return checkSubstring(needle, hay, operands, scope);
  if (hay.type.kind !== 'list') {
    return refuse(
      scope,
      'type',
      hay.place,
      `expected a list, but ${nameOf(hay)} is ${typeName(hay.type)}; write {"in": [value, [value, …]]}`,
    );
  }
  needle = settle(needle, hay.type.of);
  hay = settle(hay, listOf(needle.type));
  const both = hay.type.kind === 'list' ? unify(needle.type, hay.type.of) : undefined;
  if (!both || both.kind === 'list' || both.kind === 'record' || both.kind === 'time') {
    return refuse(
      scope,
      'type',
      needle.place,
      `${nameOf(needle)} is ${typeName(needle.type)} and cannot be in ${typeName(hay.type)}`,
    );
  }
  if (needle.type.kind === 'text' && needle.type.style === 'groups') {
    return refuse(
      scope,
      'type',
      needle.place,
      `${nameOf(needle)} is a comma-separated list of groups in one text; write {"in_group": "name"}`,
    );
  }
  if (hay.op === 'list' && !hay.items.every((item) => item.op !== 'literal' || checkMember(needle, item, scope)))
    return refused(operands.place);
  return call('in', [needle, hay], BOOLEAN, operands);
}

function checkMember(needle: Expression, item: Expression & { op: 'literal' }, scope: Scope): boolean {
  if (needle.type.kind === 'score' && (Number(item.value) < 0 || Number(item.value) > 100)) {
    scope.problem(
      'value',
      item.place,
      `${nameOf(needle)} is a trust score from 0 to 100; it is never \`${item.value}\``,
    );
    return false;
  }
  return checkKnownText(needle, item, scope);
}

/** `in` with a text looks for a part of it: meant for a literal part in a field, and for nothing else. */
function checkSubstring(needle: Expression, hay: Expression, operands: Operands, scope: Scope): Expression {
  if (hay.type.kind === 'text' && hay.type.style === 'groups') {
    return refuse(
      scope,
      'type',
      hay.place,
      `${nameOf(hay)} is a comma-separated list of groups in one text, and \`in\` would find "admin" in "sysadmin"; write {"in_group": "name"}`,
    );
  }
  if (hay.op === 'literal') {
    return refuse(
      scope,
      'type',
      hay.place,
      '`in` with a text would look for a part of that text; write the values as a list: {"in": [value, ["a", "b"]]}',
    );
  }
  if (hay.type.kind === 'flag') {
    return refuse(scope, 'type', hay.place, `${nameOf(hay)} is ${typeName(hay.type)}; compare it with \`==\``);
  }
  const settled = settle(needle, TEXT);
  if (!isTextual(settled.type)) {
    return refuse(
      scope,
      'type',
      needle.place,
      `expected a text to look for, but ${nameOf(needle)} is ${typeName(needle.type)}`,
    );
  }
  if (settled.op === 'literal' && settled.value === '') {
    return refuse(scope, 'value', needle.place, 'the empty text is in every text, so this would always be true');
  }
  return call('in', [settled, hay], BOOLEAN, operands);
}

export function checkCat(operands: Operands, scope: Scope): Expression {
  const args = operands.args.map((arg, index) => settle(check(arg, operands.placeOf(index), scope), TEXT));
  const bad = args.find(
    ({ type }) => !isTextual(type) && !isNumeric(type) && type.kind !== 'boolean' && type.kind !== 'refused',
  );
  if (bad)
    return refuse(
      scope,
      'type',
      bad.place,
      `\`cat\` joins texts and numbers, but ${nameOf(bad)} is ${typeName(bad.type)}`,
    );
  return call('cat', args, TEXT, operands);
}

export function checkSubstr(operands: Operands, scope: Scope): Expression {
  const args = operands.args.map((arg, index) =>
    settle(check(arg, operands.placeOf(index), scope), index === 0 ? TEXT : NUMBER),
  );
  const bad = args.find(
    ({ type }, index) => type.kind !== 'refused' && !(index === 0 ? isTextual(type) : type.kind === 'number'),
  );
  if (bad)
    return refuse(
      scope,
      'type',
      bad.place,
      `\`substr\` takes a text, a start and a length, but ${nameOf(bad)} is ${typeName(bad.type)}`,
    );
  return call('substr', args, TEXT, operands);
}

export function checkMerge(operands: Operands, scope: Scope): Expression {
  const args = operands.args.map((arg, index) => check(arg, operands.placeOf(index), scope));
  let of = ANY;
  for (const arg of args) {
    const both = unify(of, arg.type.kind === 'list' ? arg.type.of : arg.type);
    if (!both)
      return refuse(
        scope,
        'type',
        arg.place,
        `a list holds values of one type: expected ${typeName(of)}, but ${nameOf(arg)} is ${typeName(arg.type)}`,
      );
    of = both;
  }
  return call('merge', args, listOf(of), operands);
}

export function checkArithmetic(operands: Operands, scope: Scope): Expression {
  const name = operands.name as '+' | '-' | '*' | '/' | '%';
  const args = operands.args.map((arg, index) => settle(check(arg, operands.placeOf(index), scope), NUMBER));
  const only = args[0];
  if (name === '+' && args.length === 1 && only?.type.kind === 'text')
    return call('to_number', [only], NUMBER, operands);
  return refuseUnnumeric(args, name, scope) ? refused(operands.place) : call(name, args, resultOf(args), operands);
}

export function checkExtreme(operands: Operands, scope: Scope): Expression {
  const args = operands.args.map((arg, index) => settle(check(arg, operands.placeOf(index), scope), NUMBER));
  const name = operands.name as 'min' | 'max';
  return refuseUnnumeric(args, name, scope) ? refused(operands.place) : call(name, args, resultOf(args), operands);
}

/** Sums and differences of time spans stay time spans, so that they can be compared with "90d". */
function resultOf(args: readonly Expression[]): ValueType {
  return args.every((arg) => arg.type.kind === 'seconds') ? { kind: 'seconds' } : NUMBER;
}

function refuseUnnumeric(args: readonly Expression[], name: string, scope: Scope): boolean {
  let refusedAny = false;
  for (const arg of args) {
    if (isNumeric(arg.type)) continue;
    refusedAny = true;
    if (arg.type.kind === 'refused') continue;
    const code = arg.type.kind === 'time' ? 'unit' : 'type';
    const hint =
      arg.type.kind === 'time'
        ? '; for how long ago it was, compare {"age": …} with a duration such as "90d"'
        : arg.type.kind === 'text'
          ? '; {"+": [text]} makes a number of a text'
          : '';
    scope.problem(code, arg.place, `\`${name}\` takes numbers, but ${nameOf(arg)} is ${typeName(arg.type)}${hint}`);
  }
  return refusedAny;
}
