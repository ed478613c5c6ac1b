// evaluate: parts of a condition that are the same for every subject whose facts are known: nobody means one, and where it
// is always true it bans people. In: a checked condition. Out: problems, each with the part that is to blame.
import { RE2JS } from 're2js';
import { type Expression, type ExpressionOf, keyOf, partsOf } from '../language/expression.ts';
import type { Comparison } from '../language/numbers.ts';
import type { Place } from '../language/problem.ts';
import type { ValueType } from '../record-types/field-types.ts';

/** Tells of every constant part, of one inside another the inner one alone; answers whether there is any. */
export function checkConstants(condition: Expression, tell: (place: Place, message: string) => void): boolean {
  const where = condition.op === 'fact' && condition.fact.kind === 'events' ? condition.fact.count.where : undefined;
  const within = [...partsOf(condition), ...(where ? [where] : [])].map((part) => checkConstants(part, tell));
  if (within.includes(true)) return true;
  const found = constantIn(condition);
  if (found) tell(found.place, `this is always ${found.truth}: ${found.because}`);
  return found !== undefined;
}

interface Constant {
  place: Place;
  truth: 'true' | 'false' | 'the same';
  because: string;
}

const TESTS: ReadonlySet<string> = new Set([
  'in',
  'starts_with',
  'ends_with',
  'in_group',
  'version_lt',
  'version_lte',
  'version_gt',
  'version_gte',
]);

function constantIn(expression: Expression): Constant | undefined {
  const literal = literalInConditionOf(expression);
  if (literal) {
    return { place: literal.place, truth: literal.value ? 'true' : 'false', because: 'it is written out' };
  }
  const { place } = expression;
  const isTest =
    expression.op === 'compare' ||
    expression.op === 'matches' ||
    (expression.op === 'call' && TESTS.has(expression.name));
  if (isTest && !readsAnything(expression)) return { place, truth: 'the same', because: 'it reads no fact' };
  if (expression.op === 'compare') return constantComparison(expression);
  if (expression.op === 'matches' && matchesEverything(expression.pattern)) {
    return { place, truth: 'true', because: `every text matches ${JSON.stringify(expression.pattern)}` };
  }
  if (expression.op !== 'call') return undefined;
  if (expression.name === 'in') return everyFlagIn(expression);
  return expression.name === 'if' ? sameBranches(expression) : undefined;
}

/** A literal where a condition is expected: as an operand of `and`, `or`, `!` and `!!`, or as the question of an `if`. */
function literalInConditionOf(expression: Expression): ExpressionOf<'literal'> | undefined {
  if (expression.op !== 'call') return undefined;
  const { name, args } = expression;
  const asked = name === 'if' ? args.filter((_, index) => index % 2 === 0 && index + 1 < args.length) : args;
  if (!['and', 'or', '!', '!!', 'if'].includes(name)) return undefined;
  return asked.find((arg): arg is ExpressionOf<'literal'> => arg.op === 'literal');
}

function readsAnything(expression: Expression): boolean {
  return (
    ['fact', 'item', 'now', 'missing', 'reduce'].includes(expression.op) || partsOf(expression).some(readsAnything)
  );
}

function constantComparison({ by, args, place }: ExpressionOf<'compare'>): Constant | undefined {
  const pairs = args.slice(1).map((right, index) => comparesTo(by, args[index] as Expression, right));
  const [first] = pairs;
  if (!first || !pairs.every((pair) => pair?.truth === first.truth)) return undefined;
  return { place, ...first };
}

type Finding = Pick<Constant, 'truth' | 'because'> | undefined;

function comparesTo(by: Comparison, left: Expression, right: Expression): Finding {
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

const MIRRORED: Record<Comparison, Comparison> = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

function outOfRange(by: Comparison, side: Expression, literal: ExpressionOf<'literal'>): Finding {
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
  return side.op === 'fact' && side.fact.kind === 'events' ? [0, Number.POSITIVE_INFINITY] : undefined;
}

function rangeWords(side: Expression, [least, most]: [number, number]): string {
  if (most === Number.POSITIVE_INFINITY) return `a count is never below ${least}`;
  return `a ${side.type.kind === 'score' ? 'trust score' : 'number'} is from ${least} to ${most}`;
}

function valuesOf(type: ValueType): readonly string[] | undefined {
  if (type.kind === 'flag') return ['TRUE', 'FALSE'];
  return type.kind === 'text' ? type.values : undefined;
}

function everyFlagIn({ args, place }: ExpressionOf<'call'>): Constant | undefined {
  const [needle, list] = args;
  if (needle?.type.kind !== 'flag' || !list) return undefined;
  const items = list.op === 'list' ? list.items.map((item) => (item.op === 'literal' ? item.value : undefined)) : [];
  const literal = list.op === 'literal' && Array.isArray(list.value) ? list.value : items;
  if (!literal.includes('TRUE') || !literal.includes('FALSE')) return undefined;
  return { place, truth: 'true', because: 'a flag is "TRUE" or "FALSE", and both are in the list' };
}

function sameBranches({ args, place }: ExpressionOf<'call'>): Constant | undefined {
  const answers = args.filter((_, index) => index % 2 === 1 || index === args.length - 1).map(keyOf);
  if (new Set(answers).size > 1) return undefined;
  return { place, truth: 'the same', because: 'each answer of this `if` is the same' };
}

/** Texts that have nothing in common. A pattern that finds something in each of them finds it in every text. */
const UNLIKE = ['', '\u0001', 'q', '7', '-\n~', '\u{1f600}'];

function matchesEverything(pattern: string): boolean {
  const compiled = RE2JS.compile(pattern);
  return UNLIKE.every((text) => compiled.matcher(text).find());
}
