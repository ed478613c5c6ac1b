// evaluate: comparisons that are the same for every subject: of something with itself, or with a value it can never reach.
// In: checked operands. Out: what the comparison always is, and why; or nothing.
import type { Args, Constant, Expression, ExpressionOf } from '../../language/expression.ts';
import { type Comparison, MIRRORED } from '../../language/numbers.ts';
import { keyOf } from '../../language/walk.ts';
import type { ValueType } from '../../record-types/field-types.ts';

export function constantComparison(by: Comparison, args: Args): Constant | undefined {
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
function rangeOf(side: Expression): [least: number, most: number] | undefined {
  if (side.type.kind === 'score') return [0, 100];
  const isCount = side.op === 'call' ? side.operator.isCount : side.op === 'fact' && side.fact.kind === 'events';
  return isCount ? [0, Number.POSITIVE_INFINITY] : undefined;
}

function rangeWords(side: Expression, [least, most]: [number, number]): string {
  if (most === Number.POSITIVE_INFINITY) return `a count is never below ${least}`;
  return `a ${side.type.kind === 'score' ? 'trust score' : 'number'} is from ${least} to ${most}`;
}

function valuesOf(type: ValueType): readonly string[] | undefined {
  if (type.kind === 'flag') return ['TRUE', 'FALSE'];
  return type.kind === 'text' ? type.values : undefined;
}
