// evaluate: `in`: is a value among those of a list, or a text a part of a field's text. In: a value and a list, or two texts.
// A list that holds something of another type is in doubt, unless the value is found in it.
import type { Fact } from '../../domain/facts.ts';
import { check } from '../check/expression.ts';
import { checkKnownText, checkScore } from '../check/known-values.ts';
import { call, type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { isTextual, settle, unify } from '../check/types.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Args, Compiling, Constant, Expression, ExpressionOf, Operator } from '../language/expression.ts';
import type { Condition, Expr } from '../language/frame.ts';
import { compareNumbers, isExact, type Num } from '../language/numbers.ts';
import { FALSE, Span, TRUE, type Truth, Unknown, worse } from '../language/three-valued.ts';
import { isOfType } from '../language/typed-value.ts';
import { nameOf } from '../language/wording.ts';
import { BOOLEAN, listOf, TEXT, typeName } from '../record-types/field-types.ts';
import type { Family } from './family.ts';
import { infix } from './infix.ts';
import { textTest } from './text-tests.ts';

const IN: Operator = {
  name: 'in',
  isTotal: true,
  takesSteps: true,
  text: infix('in'),
  constant: everyFlagIn,
  condition: (args, compiling) =>
    args[1]?.type.kind === 'list'
      ? compileInList(args, compiling)
      : textTest(args, compiling, (part, text) => text.includes(part)),
};

function everyFlagIn([needle, list]: Args): Constant | undefined {
  if (needle?.type.kind !== 'flag' || list?.op !== 'list') return undefined;
  const flags = list.items.map((item) => (item.op === 'literal' ? item.value : undefined));
  if (!flags.includes('TRUE') || !flags.includes('FALSE')) return undefined;
  return { truth: 'true', because: 'a flag is "TRUE" or "FALSE", and both are in the list' };
}

function compileInList(args: Args, compiling: Compiling): Condition {
  const [needle, hay] = args as [Expression, Expression];
  const value = compiling.value(needle);
  if (hay.op === 'list' && hay.items.every((item) => item.op === 'literal')) {
    const members = new Set(hay.items.map((item) => (item as ExpressionOf<'literal'>).value));
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found.truth;
      if (found instanceof Span) return inSpan(found, members, compiling, needle);
      return members.has(found) ? TRUE : FALSE;
    };
  }
  if (hay.op === 'list') return compileInExpressions(value, needle, hay, compiling);
  return compileInFact(value, needle, hay, compiling);
}

function inSpan(span: Span, members: Iterable<Fact>, compiling: Compiling, needle: Expression): Truth {
  for (const member of members) {
    if (isExact(member) && member >= span.lo && member <= span.hi) {
      if (span.doubt !== undefined) return span.doubt;
      const name = nameOf(needle).replaceAll('`', '');
      return compiling.reasons.unknown(name, `\`${name}\` is only known to lie between bounds: the event log has gaps`)
        .truth;
    }
  }
  return FALSE;
}

/** A list written in the rule with computed parts: one unknown part leaves room for doubt, unless another is it. */
function compileInExpressions(
  value: Expr,
  needle: Expression,
  hay: ExpressionOf<'list'>,
  compiling: Compiling,
): Condition {
  const items = hay.items.map((item) => compiling.value(item));
  const name = nameOf(needle).replaceAll('`', '');
  const why = 'a count is only known to lie between bounds: the event log has gaps';
  const vague = compiling.reasons.unknown(name, why).truth;
  return (frame) => {
    const found = value(frame);
    let result: Truth = found instanceof Unknown ? found.truth : FALSE;
    for (const item of items) {
      const member = item(frame);
      if (member instanceof Unknown) result = result === FALSE ? member.truth : worse(result, member.truth);
      else if (member instanceof Span || found instanceof Span) {
        if (found instanceof Unknown) continue;
        const same = compareNumbers('==', found as Num, member as Num, vague);
        if (same !== FALSE) result = result === FALSE ? same : worse(result, same);
      } else if (member === found) return TRUE;
    }
    return result;
  };
}

export function compileInFact(value: Expr, needle: Expression, hay: Expression, compiling: Compiling): Condition {
  const members = compiling.value(hay);
  const of = hay.type.kind === 'list' ? hay.type.of : needle.type;
  const label = nameOf(hay);
  const wrong = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} holds something of another type`).truth;
  const overBudget = compiling.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const found = value(frame);
    const all = members(frame);
    if (all instanceof Unknown) return found instanceof Unknown ? worse(found.truth, all.truth) : all.truth;
    if (found instanceof Unknown) return found.truth;
    if (found instanceof Span) return inSpan(found, all as Fact[], compiling, needle);
    let result: Truth = FALSE;
    const list = all as Fact[];
    frame.steps -= list.length;
    if (frame.steps < 0) return overBudget;
    for (let i = 0; i < list.length; i++) {
      const member = list[i] as Fact;
      if (member === found) return TRUE;
      if (typeof member !== typeof found && !isOfType(member, of)) result = wrong;
    }
    return result;
  };
}

function checkIn(operands: Operands, scope: Scope): Expression {
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
  const canBe = (field: Expression, item: ExpressionOf<'literal'>): boolean =>
    checkScore(field, item, scope) && checkKnownText(field, item, scope);
  if (hay.op === 'list' && !hay.items.every((item) => item.op !== 'literal' || canBe(needle, item)))
    return refused(operands.place);
  return call(IN, [needle, hay], BOOLEAN, operands.place);
}

/** `in` with a text looks for a part of it. Only a part in a field's text makes sense. */
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
  return call(IN, [settled, hay], BOOLEAN, operands.place);
}

export const MEMBERSHIP: Family = {
  in: { min: 2, max: 2, usage: 'write it as [value, list]', check: checkIn },
};
