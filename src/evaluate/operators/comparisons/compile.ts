// evaluate: comparisons → closures. The common shapes (a fact with a literal) are compiled to a single test.
// In: two or three operands of one kind. Out: (frame) → truth; numbers are compared exactly, counts between bounds by their bounds.
import type { Fact, Facts } from '../../../domain/facts.ts';
import { epochMsOf } from '../../../domain/timestamp.ts';
import type { Args, Compiling, Expression, ExpressionOf } from '../../language/expression.ts';
import type { Condition } from '../../language/frame.ts';
import { type Comparison, compareNumbers, type Exact, MIRRORED, type Num } from '../../language/numbers.ts';
import { and, FALSE, TRUE, Unknown, type Value, worse } from '../../language/three-valued.ts';
import { isPlain } from '../../language/typed-value.ts';
import { isReadLate } from '../../language/walk.ts';
import type { TimeUnit } from '../../record-types/field-types.ts';
import type { Units } from './check.ts';

export function compileComparison(
  by: Comparison,
  units: Units | undefined,
  args: Args,
  compiling: Compiling,
): Condition {
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
    [a, b].find((side) => side.op === 'fact' && side.fact.kind === 'events') ??
    [a, b].find((side) => side.op === 'fact');
  return named?.op === 'fact' ? named.fact.label : 'a time';
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
