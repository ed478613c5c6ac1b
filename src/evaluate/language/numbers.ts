// evaluate: the numbers that facts can have: JavaScript numbers, exact big integers (19-digit times) and Spans.
// In: two of them. Out: a comparison or a sum, exact wherever integers meet. Never NaN, never Infinity.
import { Span, type Truth } from './three-valued.ts';

export type Exact = number | bigint;
export type Num = Exact | Span;
export type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!=';

/** The same comparison with its sides exchanged. */
export const MIRRORED: Record<Comparison, Comparison> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
};

export function isExact(value: unknown): value is Exact {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Compares exactly: JavaScript compares number with bigint by their mathematical values. `doubt`: when a span straddles. */
export function compareNumbers(by: Comparison, a: Num, b: Num, doubt: Truth): Truth {
  if (a instanceof Span || b instanceof Span) return compareSpans(by, a, b, doubt);
  switch (by) {
    case '<':
      return a < b ? 1 : 0;
    case '<=':
      return a <= b ? 1 : 0;
    case '>':
      return a > b ? 1 : 0;
    case '>=':
      return a >= b ? 1 : 0;
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return a == b ? 1 : 0;
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return a != b ? 1 : 0;
  }
}

const low = (value: Num): Exact => (value instanceof Span ? value.lo : value);
const high = (value: Num): Exact => (value instanceof Span ? value.hi : value);

const doubtOf = (value: Num): Truth | undefined => (value instanceof Span ? value.doubt : undefined);

/** True or false only when every number within the bounds agrees. `otherwise`: for bounds that do not say why. */
function compareSpans(by: Comparison, a: Num, b: Num, otherwise: Truth): Truth {
  const doubt = doubtOf(a) ?? doubtOf(b) ?? otherwise;
  switch (by) {
    case '<':
      return high(a) < low(b) ? 1 : low(a) >= high(b) ? 0 : doubt;
    case '<=':
      return high(a) <= low(b) ? 1 : low(a) > high(b) ? 0 : doubt;
    case '>':
      return compareSpans('<', b, a, doubt);
    case '>=':
      return compareSpans('<=', b, a, doubt);
    case '==':
      return high(a) < low(b) || low(a) > high(b) ? 0 : doubt;
    case '!=':
      return high(a) < low(b) || low(a) > high(b) ? 1 : doubt;
  }
}

/** The sum, difference, product, quotient or remainder; undefined when there is none (division by zero, overflow). */
export function calculate(by: '+' | '-' | '*' | '/' | '%', a: Num, b: Num): Num | undefined {
  if (a instanceof Span || b instanceof Span) return calculateSpan(by, a, b);
  if (by !== '/' && (typeof a === 'bigint' || typeof b === 'bigint') && isWhole(a) && isWhole(b)) {
    return calculateWhole(by, BigInt(a), BigInt(b));
  }
  const [x, y] = [Number(a), Number(b)];
  const result = by === '+' ? x + y : by === '-' ? x - y : by === '*' ? x * y : by === '/' ? x / y : x % y;
  return Number.isFinite(result) ? result : undefined;
}

const isWhole = (value: Exact): boolean => typeof value === 'bigint' || Number.isInteger(value);

function calculateWhole(by: '+' | '-' | '*' | '%', a: bigint, b: bigint): Exact | undefined {
  if (by === '%' && b === 0n) return undefined;
  const result = by === '+' ? a + b : by === '-' ? a - b : by === '*' ? a * b : a % b;
  const bits = 4096n;
  if (result > 1n << bits || result < -(1n << bits)) return undefined;
  return plain(result);
}

/** A big integer as a number when no digit is lost by it. */
export function plain(value: bigint): Exact {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

function calculateSpan(by: '+' | '-' | '*' | '/' | '%', a: Num, b: Num): Num | undefined {
  if (by === '%') return undefined;
  const [aLo, aHi, bLo, bHi] = [Number(low(a)), Number(high(a)), Number(low(b)), Number(high(b))];
  const doubt = doubtOf(a) ?? doubtOf(b);
  if (by === '+') return spanOf([aLo + bLo, aHi + bHi], doubt);
  if (by === '-') return spanOf([aLo - bHi, aHi - bLo], doubt);
  if (by === '/' && bLo <= 0 && bHi >= 0) return undefined;
  const corner = (x: number, y: number): number => {
    if (by === '/') return Number.isFinite(y) ? x / y : 0;
    return x === 0 || y === 0 ? 0 : x * y; // 0 times an unbounded count is 0
  };
  return spanOf([corner(aLo, bLo), corner(aLo, bHi), corner(aHi, bLo), corner(aHi, bHi)], doubt);
}

function spanOf(bounds: number[], doubt: Truth | undefined): Num | undefined {
  if (bounds.some(Number.isNaN)) return undefined;
  const [lo, hi] = [Math.min(...bounds), Math.max(...bounds)];
  return lo === hi ? (Number.isFinite(lo) ? lo : undefined) : new Span(lo, hi, doubt);
}

/** The least or greatest of some numbers. */
export function extreme(by: 'min' | 'max', values: readonly Num[]): Num {
  const pick = (of: (value: Num) => Exact): Exact =>
    values.map(of).reduce((best, value) => ((by === 'min' ? value < best : value > best) ? value : best));
  if (!values.some((value) => value instanceof Span)) return pick((value) => value as Exact);
  const [lo, hi] = [Number(pick(low)), Number(pick(high))];
  return lo === hi
    ? lo
    : new Span(
        lo,
        hi,
        values.map(doubtOf).find((doubt) => doubt !== undefined),
      );
}
