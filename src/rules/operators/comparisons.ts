// rules: `==`, `===`, `!=`, `!==`, `<`, `<=`, `>` and `>=`: two values of one kind, or a value between two others.
// In: operands of one kind, in one unit. Out: a condition; unknown when a count's bounds lie on both sides.

import { epochMsOf } from '../../base/time.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import {
  call,
  check,
  checkDuration,
  checkKnownText,
  checkScore,
  checkSecondsLiteral,
  checkTimeLiteral,
  epochUnitOf,
  type Family,
  type Form,
  isNumeric,
  isTextual,
  type Operands,
  refuse,
  refused,
  type Scope,
  settle,
} from '../check/scope.ts';
import {
  type Args,
  and,
  type Compiling,
  type Condition,
  type Constant,
  countIn,
  type Expression,
  type ExpressionOf,
  FALSE,
  isPlain,
  isReadLate,
  keyOf,
  type Operator,
  TRUE,
  Unknown,
  type Value,
  worse,
} from '../language/expression.ts';
import { type Comparison, compareNumbers, type Exact, MIRRORED, type Num, nameOf } from '../language/loaded-rule.ts';
import { BOOLEAN, type TimeUnit, typeName, type ValueType } from '../record-types/field-types.ts';
import { infix } from './numbers.ts';

// Checks the two sides of a comparison: they must be of one kind, in one unit.

/** The units of two times that are compared. */
type Units = readonly [TimeUnit, TimeUnit];

interface Related {
  a: Expression;
  b: Expression;
  units?: Units | undefined;
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
    : [a, b].some((side) => side.type.kind === 'text' && side.type.style === 'level')
      ? 'compare trust levels with `level_lt`, `level_lte`, `level_gt` or `level_gte`'
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

// Comparisons → closures.

function compileComparison(by: Comparison, units: Units | undefined, args: Args, compiling: Compiling): Condition {
  const [a, b, c] = args as [Expression, Expression, Expression | undefined];
  if (c) {
    const low = compileComparison(by, units, [a, b], compiling);
    const high = compileComparison(by, units, [b, c], compiling);
    return (frame) => and(low(frame), high(frame));
  }
  if (!units && a.op === 'fact' && b.op === 'literal' && isEager(a)) return compileWithLiteral(by, a, b, compiling);
  if (!units && b.op === 'fact' && a.op === 'literal' && isEager(b))
    return compileWithLiteral(MIRRORED[by], b, a, compiling);
  const general = compileGeneral(by, a, b, units, compiling);
  if (a.op === 'item' && b.op === 'literal' && typeof b.value === 'string' && a.path.length === 1) {
    return compileItemText(by, a.path[0] as string, b.value, general);
  }
  return general;
}

/** A text of the loop's element with a literal; what is no text is left to the general way. */
function compileItemText(by: Comparison, key: string, wanted: string, general: Condition): Condition {
  const [same, other] = by === '==' ? [TRUE, FALSE] : [FALSE, TRUE];
  if (key in Object.prototype) return general;
  return (frame) => {
    const element = frame.item;
    if (!isPlain(element as Fact)) return general(frame);
    const found = (element as Facts)[key];
    if (found === wanted) return same;
    return typeof found === 'string' && wanted !== 'TRUE' && wanted !== 'FALSE' ? other : general(frame);
  };
}

/** Facts of the record are read before any condition is asked; counts and virtual ones when they are. */
const isEager = (expression: ExpressionOf<'fact'>): boolean => !isReadLate(expression.fact);

function compileWithLiteral(
  by: Comparison,
  fact: ExpressionOf<'fact'>,
  literal: ExpressionOf<'literal'>,
  compiling: Compiling,
): Condition {
  const index = compiling.slotIndex(fact.fact);
  const wanted = literal.value;
  if (typeof wanted === 'string' || typeof wanted === 'boolean') {
    const [same, other] = by === '==' ? [TRUE, FALSE] : [FALSE, TRUE];
    return (frame) => {
      const found = frame.slots[index];
      if (found === wanted) return same;
      return found instanceof Unknown ? found.truth : other;
    };
  }
  const test = numberTest(by, wanted as Exact);
  return (frame) => {
    const found = frame.slots[index] as Value;
    return found instanceof Unknown ? found.truth : test(found as Exact) ? TRUE : FALSE;
  };
}

/**
 * Exact for big integers too: JavaScript compares number with bigint by their mathematical values, but slowly. A number that
 * is not the literal's nearest one (`near`) lies on the same side of both, so that only a tie needs the slow comparison.
 */
function numberTest(by: Comparison, wanted: Exact): (found: Exact) => boolean {
  const near = Number(wanted);
  const tie = typeof wanted === 'bigint' ? near : Number.NaN;
  switch (by) {
    case '<':
      return (found) => (typeof found === 'number' && found !== tie ? found < near : found < wanted);
    case '<=':
      return (found) => (typeof found === 'number' && found !== tie ? found <= near : found <= wanted);
    case '>':
      return (found) => (typeof found === 'number' && found !== tie ? found > near : found > wanted);
    case '>=':
      return (found) => (typeof found === 'number' && found !== tie ? found >= near : found >= wanted);
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return (found) => (typeof found === 'number' && found !== tie ? found === near : found == wanted);
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return (found) => (typeof found === 'number' && found !== tie ? found !== near : found != wanted);
  }
}

function compileGeneral(
  by: Comparison,
  a: Expression,
  b: Expression,
  units: Units | undefined,
  compiling: Compiling,
): Condition {
  const first = compiling.value(a);
  const second = compiling.value(b);
  const doubt = compiling.reasons.unknown(
    doubtName(a, b),
    `${doubtName(a, b)} is only known to lie between bounds: the event log has gaps`,
  ).truth;
  const noTime = compiling.reasons.unknown(doubtName(a, b), `${doubtName(a, b)} is no point in time`).truth;
  return (frame) => {
    let x = first(frame);
    let y = second(frame);
    if (x instanceof Unknown) return y instanceof Unknown ? worse(x.truth, y.truth) : x.truth;
    if (y instanceof Unknown) return y.truth;
    if (typeof x === 'string' || typeof x === 'boolean') return (x === y) === (by === '==') ? TRUE : FALSE;
    if (units) {
      const [left, right] = [inNs(x as Exact, units[0]), inNs(y as Exact, units[1])];
      if (left === undefined || right === undefined) return noTime;
      x = left;
      y = right;
    }
    return compareNumbers(by, x as Num, y as Num, doubt);
  };
}

function doubtName(a: Expression, b: Expression): string {
  const named =
    [a, b].map(countIn).find((count) => count !== undefined) ??
    [a, b].flatMap((side) => (side.op === 'fact' ? side.fact : []))[0];
  return named?.label ?? 'a time';
}

/** A timestamp in ns; 0 (never) stays 0. Undefined when its unit is not known. */
function inNs(value: Exact, unit: TimeUnit): Exact | undefined {
  // biome-ignore lint/suspicious/noDoubleEquals: 0n and 0 are the same number
  if (value == 0) return 0;
  if (unit === 'ns') return value;
  if (unit === 'ms') return BigInt(Math.trunc(Number(value))) * 1_000_000n;
  if (unit === 's') return BigInt(Math.trunc(Number(value))) * 1_000_000_000n;
  const size = Number(value);
  if (size >= 1e17 && size < 1e20) return value;
  const ms = epochMsOf(value);
  return ms === undefined ? undefined : BigInt(Math.trunc(ms * 1_000)) * 1_000n;
}

// Comparisons that are the same for every subject: of something with itself, or with a value it can never reach.

function constantComparison(by: Comparison, args: Args): Constant | undefined {
  const pairs = args.slice(1).map((right, index) => comparesTo(by, args[index] as Expression, right));
  const [first] = pairs;
  if (!first || !pairs.every((pair) => pair?.truth === first.truth)) return undefined;
  return first;
}

function comparesTo(by: Comparison, left: Expression, right: Expression): Constant | undefined {
  if (left.op !== 'literal' && keyOf(left) === keyOf(right)) {
    const truth = by === '==' || by === '<=' || by === '>=' ? 'true' : 'false';
    return { truth, because: 'both sides are the same' };
  }
  const values = [valuesOf(left.type), valuesOf(right.type)] as const;
  if (left.op !== 'literal' && right.op !== 'literal' && values[0] && values[1]) {
    const [a, b] = values;
    if ((by === '==' || by === '!=') && !a.some((value) => b.includes(value))) {
      return { truth: by === '!=' ? 'true' : 'false', because: 'the two sides have no value in common' };
    }
  }
  if (right.op === 'literal') return outOfRange(by, left, right);
  return left.op === 'literal' ? outOfRange(MIRRORED[by], right, left) : undefined;
}

function outOfRange(by: Comparison, side: Expression, literal: ExpressionOf<'literal'>): Constant | undefined {
  const range = rangeOf(side);
  if (!range || (typeof literal.value !== 'number' && typeof literal.value !== 'bigint')) return undefined;
  const [least, most] = range;
  const value = Number(literal.value);
  // What holds at both ends of a range holds within it, and what holds at neither end of it holds nowhere (`==` apart).
  const atEnds = [least, most].map((end) => HOLDS[by](end, value));
  const isInside = value >= least && value <= most;
  if (by === '==' || by === '!=') {
    return isInside ? undefined : { truth: by === '!=' ? 'true' : 'false', because: rangeWords(side, range) };
  }
  if (atEnds[0] !== atEnds[1]) return undefined;
  return { truth: atEnds[0] ? 'true' : 'false', because: rangeWords(side, range) };
}

const HOLDS: Record<Comparison, (a: number, b: number) => boolean> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

/** From where to where a number can go. `age` can be negative: that is how a time in the future is found. */
function rangeOf(side: Expression): Operator['range'] {
  if (side.type.kind === 'score') return [0, 100];
  if (side.op === 'call') return side.operator.range;
  return countIn(side) ? [0, Number.POSITIVE_INFINITY] : undefined;
}

function rangeWords(side: Expression, [least, most]: readonly [number, number]): string {
  if (most === Number.POSITIVE_INFINITY) return `a count is never below ${least}`;
  const what = side.type.kind === 'score' ? 'a trust score' : nameOf(side);
  return `${what} is from ${least} to ${most}`;
}

function valuesOf(type: ValueType): readonly string[] | undefined {
  if (type.kind === 'flag') return ['TRUE', 'FALSE'];
  return type.kind === 'text' ? type.values : undefined;
}

/** `units`: set when two times of different units meet: json-logic-js would compare the bare numbers. */
function comparison(by: Comparison, units: Units | undefined, count: number): Operator {
  return {
    name: by,
    isForeign: units !== undefined,
    isTotal: units === undefined,
    isComparison: units === undefined,
    isPlainComparison: units === undefined && count === 2,
    key: (args) => `(${by}${units?.join('/') ?? ''} ${args.join(' ')})`,
    text: infix(by),
    constant: (args) => constantComparison(by, args),
    condition: (args, compiling) => compileComparison(by, units, args, compiling),
  };
}

function comparing(name: string, by: Comparison, max: 2 | 3, swaps: readonly string[]): [string, Form] {
  const usage = max === 2 ? 'write it as [value, value]' : 'write it as [value, value] or [low, value, high]';
  return [name, { min: 2, max, usage, swaps, check: (operands, scope) => checkComparison(by, operands, scope) }];
}

function checkComparison(by: Comparison, { args, place, placeOf }: Operands, scope: Scope): Expression {
  const written = args.map((arg, index) => checkSide(arg, placeOf(index), scope));
  let sides: Args = written.filter((side) => side !== undefined);
  if (sides.length < written.length) return refused(place);
  let units: Units | undefined;
  for (let i = 0; i + 1 < sides.length; i++) {
    const related = relate(by, sides[i] as Expression, sides[i + 1] as Expression, scope);
    if (!related) return refused(place);
    sides = sides.with(i, related.a).with(i + 1, related.b);
    units = related.units ?? units;
  }
  if (units && sides.length > 2) {
    const message = 'times of different units can be compared two at a time; join two comparisons with `and`';
    return refuse(scope, 'unit', place, message);
  }
  return call(comparison(by, units, sides.length), sides, BOOLEAN, place);
}

/** `null` has its own message here, because comparing with it is how absence is tested elsewhere. */
function checkSide(arg: Fact, place: Operands['place'], scope: Scope): Expression | undefined {
  if (arg !== null) return check(arg, place, scope);
  const message =
    'comparing with `null` is always unknown; to ask whether a field is absent, write {"missing": ["path"]}';
  scope.problem('type', place, message);
  return undefined;
}

export const COMPARISONS: Family = Object.fromEntries([
  comparing('==', '==', 2, ['!=']),
  comparing('===', '==', 2, ['!==']),
  comparing('!=', '!=', 2, ['==']),
  comparing('!==', '!=', 2, ['===']),
  comparing('<', '<', 3, ['<=', '>']),
  comparing('<=', '<=', 3, ['<', '>']),
  comparing('>', '>', 2, ['>=', '<']),
  comparing('>=', '>=', 2, ['>', '<']),
]);
