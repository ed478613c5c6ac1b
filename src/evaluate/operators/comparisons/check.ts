// evaluate: checks the two sides of a comparison: they must be of one kind, in one unit.
// In: two checked operands. Out: both with their types settled, and the units of two times when these differ; or a problem.
// json-logic-js compares anything with anything ("" == 0, missing < 50); here a comparison that makes no sense is a load error.
import { checkKnownText, checkScore } from '../../check/known-values.ts';
import type { Scope } from '../../check/scope.ts';
import { isNumeric, isTextual, settle } from '../../check/types.ts';
import { checkDuration, checkSecondsLiteral, checkTimeLiteral, epochUnitOf } from '../../check/units.ts';
import type { Expression } from '../../language/expression.ts';
import type { Comparison } from '../../language/numbers.ts';
import { nameOf } from '../../language/wording.ts';
import { type TimeUnit, typeName, type ValueType } from '../../record-types/field-types.ts';

/** The units of two times that are compared. */
export type Units = readonly [TimeUnit, TimeUnit];

export interface Related {
  a: Expression;
  b: Expression;
  units?: Units | undefined;
}

export function relate(by: Comparison, first: Expression, second: Expression, scope: Scope): Related | undefined {
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
  if (isNumeric(a.type) && isNumeric(b.type)) return relateNumbers(a, b, scope);
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

function relateNumbers(a: Expression, b: Expression, scope: Scope): Related | undefined {
  const fits = (b.op !== 'literal' || checkScore(a, b, scope)) && (a.op !== 'literal' || checkScore(b, a, scope));
  return fits ? { a, b } : undefined;
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
