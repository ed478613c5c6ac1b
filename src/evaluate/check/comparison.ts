// evaluate: checks of `==`, `===`, `!=`, `!==`, `<`, `<=`, `>`, `>=`: both sides must be of one kind, in one unit.
// json-logic-js compares anything with anything ("" == 0, missing < 50); here what cannot be meant is a load error.

import type { Fact } from '../../domain/facts.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import { nearestName } from '../language/nearest-name.ts';
import type { Comparison } from '../language/numbers.ts';
import { nameOf, showLiteral } from '../language/wording.ts';
import { BOOLEAN, type TimeUnit, typeName, type ValueType } from '../record-types/field-types.ts';
import { check, isNumeric, isTextual, settle } from './expression.ts';
import { type Operands, refuse, refused, type Scope } from './scope.ts';
import { checkDuration, checkSecondsLiteral, checkTimeLiteral, epochUnitOf } from './units.ts';

export function checkComparison({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const by = (name === '===' ? '==' : name === '!==' ? '!=' : name) as Comparison;
  let sides = args.map((arg, index) => checkSide(arg, placeOf(index), scope));
  if (sides.some((side) => side === undefined)) return refused(place);
  let units: [TimeUnit, TimeUnit] | undefined;
  for (let i = 0; i + 1 < sides.length; i++) {
    const related = relate(by, sides[i] as Expression, sides[i + 1] as Expression, scope);
    if (!related) return refused(place);
    sides = sides.with(i, related.a).with(i + 1, related.b);
    units = related.units ?? units;
  }
  if (units && sides.length > 2) {
    return refuse(
      scope,
      'unit',
      place,
      'times of different units can be compared two at a time; join two comparisons with `and`',
    );
  }
  return { op: 'compare', by, args: sides as Expression[], units, type: BOOLEAN, place };
}

/** `null` has its own message here, because comparing with it is how absence is tested elsewhere. */
function checkSide(arg: Fact, place: Operands['place'], scope: Scope): Expression | undefined {
  if (arg !== null) return check(arg, place, scope);
  scope.problem(
    'type',
    place,
    'comparing with `null` is always unknown; to ask whether a field is absent, write {"missing": ["path"]}',
  );
  return undefined;
}

interface Related {
  a: Expression;
  b: Expression;
  units?: [TimeUnit, TimeUnit] | undefined;
}

function relate(by: Comparison, first: Expression, second: Expression, scope: Scope): Related | undefined {
  const a = settle(first, second.type);
  const b = settle(second, first.type);
  if (a.type.kind === 'refused' || b.type.kind === 'refused') return undefined;
  const ordered = by !== '==' && by !== '!=';
  if (a.type.kind === 'any' && b.type.kind === 'any') {
    return no(
      scope,
      'type',
      b,
      `the types of ${nameOf(a)} and ${nameOf(b)} are not known; name one of them in \`declares\``,
    );
  }
  if (isTextual(a.type) && isTextual(b.type)) return ordered ? refuseOrder(a, b, scope) : relateTexts(a, b, scope);
  if (a.type.kind === 'seconds' || b.type.kind === 'seconds') return relateSeconds(a, b, scope);
  if (a.type.kind === 'time' || b.type.kind === 'time') return relateTimes(a, b, scope);
  if (isNumeric(a.type) && isNumeric(b.type)) return checkScores(a, b, scope) ? { a, b } : undefined;
  if (a.type.kind === 'boolean' && b.type.kind === 'boolean' && !ordered) return { a, b };
  return refuseKinds(a, b, scope);
}

function no(scope: Scope, code: 'type' | 'value' | 'unit', at: Expression, message: string): undefined {
  scope.problem(code, at.place, message);
  return undefined;
}

function refuseOrder(a: Expression, b: Expression, scope: Scope): undefined {
  const version = [a, b].some((side) => side.type.kind === 'text' && side.type.style === 'version');
  const hint = version
    ? 'compare versions with `version_lt`, `version_lte`, `version_gt` or `version_gte`'
    : 'use `==` or `in` with the values that are meant';
  return no(scope, 'type', a, `texts have no order (as text, "9" comes after "10"); ${hint}`);
}

function relateTexts(a: Expression, b: Expression, scope: Scope): Related | undefined {
  for (const [side, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (side.type.kind === 'text' && side.type.style === 'groups') {
      return no(
        scope,
        'type',
        side,
        `${nameOf(side)} is a comma-separated list of groups in one text; write {"in_group": "name"}`,
      );
    }
    if (other.op === 'literal' && !checkKnownText(side, other, scope)) return undefined;
  }
  return { a, b };
}

/** Whether a text can be a value of that field: a flag's is closed, another's known values only catch typing errors. */
export function checkKnownText(field: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  if (typeof value !== 'string' || field.op === 'literal') return true;
  if (field.type.kind === 'flag') {
    if (value === 'TRUE' || value === 'FALSE') return true;
    const upper = value.trim().toUpperCase();
    const hint =
      upper === 'TRUE' || upper === 'FALSE'
        ? `; write "${upper}"`
        : value === ''
          ? '; an empty flag counts as missing: write {"missing": ["path"]}'
          : '';
    no(scope, 'value', literal, `${nameOf(field)} is "TRUE" or "FALSE", never ${showLiteral(value)}${hint}`);
    return false;
  }
  const known = field.type.kind === 'text' ? field.type.values : undefined;
  if (!known || known.includes(value) || value === '') return true;
  const meant = known.find((each) => each.toLowerCase() === value.toLowerCase()) ?? nearestName(value, known);
  const hint =
    meant === undefined
      ? ` (known: ${known.join(', ')}); if the server has it, declare the field as \`text\` in \`declares\``
      : `; did you mean "${meant}"?`;
  no(scope, 'value', literal, `${nameOf(field)} is not known to have the value ${showLiteral(value)}${hint}`);
  return false;
}

function relateSeconds(a: Expression, b: Expression, scope: Scope): Related | undefined {
  const literal = a.op === 'literal' ? a : b.op === 'literal' ? b : undefined;
  if (literal && literal.type.kind === 'text') {
    const seconds = checkDuration(literal, scope);
    if (!seconds) return undefined;
    return literal === a ? { a: seconds, b } : { a, b: seconds };
  }
  if (literal && !checkSecondsLiteral(literal, scope)) return undefined;
  if (isNumeric(a.type) && isNumeric(b.type)) return { a, b };
  return refuseKinds(a, b, scope);
}

function relateTimes(a: Expression, b: Expression, scope: Scope): Related | undefined {
  if (a.type.kind === 'time' && b.type.kind === 'time') {
    const same = a.type.unit === b.type.unit && a.type.unit !== 'any';
    return { a, b, units: same ? undefined : [a.type.unit, b.type.unit] };
  }
  const [time, other] = a.type.kind === 'time' ? [a, b] : [b, a];
  if (other.op === 'literal') {
    if (!checkTimeLiteral(time, other, scope)) return undefined;
    const unit = (time.type as ValueType & { kind: 'time' }).unit;
    if (unit !== 'any') return { a, b };
    const literalUnit = epochUnitOf(other.value as number | bigint) ?? 'any';
    return { a, b, units: time === a ? [unit, literalUnit] : [literalUnit, unit] };
  }
  if (other.type.kind === 'number') return { a, b };
  return refuseKinds(a, b, scope);
}

export function checkScores(a: Expression, b: Expression, scope: Scope): boolean {
  for (const [side, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (side.type.kind !== 'score' || other.op !== 'literal') continue;
    const value = Number(other.value);
    if (value >= 0 && value <= 100) continue;
    no(
      scope,
      'value',
      other,
      `${nameOf(side)} is a trust score from 0 to 100; it is never ${showLiteral(other.value)}`,
    );
    return false;
  }
  return true;
}

function refuseKinds(a: Expression, b: Expression, scope: Scope): undefined {
  const [field, other] = a.op === 'literal' ? [b, a] : [a, b];
  const { kind } = field.type;
  const value = other.op === 'literal' ? other.value : undefined;
  let hint = '';
  if (kind === 'flag' && typeof value === 'boolean')
    hint = `; write "${value ? 'TRUE' : 'FALSE'}" (with the quotation marks)`;
  else if (kind === 'boolean' && typeof value === 'string')
    hint = /^(true|false)$/i.test(value) ? `; write ${value.toLowerCase()} without quotation marks` : '';
  else if (isNumeric(field.type) && typeof value === 'string')
    hint = value !== '' && Number.isFinite(Number(value)) ? `; write ${Number(value)} without quotation marks` : '';
  else if (isTextual(field.type) && typeof value === 'number') hint = `; write "${value}" with quotation marks`;
  else if (kind === 'list') hint = '; ask with `in`, `some`, `all` or `none`';
  else if (kind === 'time' && typeof value === 'string')
    hint = '; for how long ago it was, compare {"age": …} with a duration such as "90d"';
  return no(
    scope,
    'type',
    other,
    `${nameOf(field)} is ${typeName(field.type)} and cannot be compared with ${nameOf(other)}, ${typeName(other.type)}${hint}`,
  );
}
