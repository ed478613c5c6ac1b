// rules: `+`, `-`, `*`, `/`, `%`, `min` and `max` over exact numbers and counts between bounds. In: numbers.
// A result that is no number (division by zero, too large) is unknown. Of one text, `+` makes the number it begins with.

import { RE2JS } from 're2js';
import type { SemVer } from 'semver';
import semver from 'semver';
import { didYouMean } from '../../base/nearest-name.ts';
import { type Fact, showLiteral } from '../../domain/facts.ts';
import { TRUST_LEVELS, type TrustLevel } from '../../domain/platform-values.ts';
import {
  call,
  check,
  checkText,
  type Family,
  type Form,
  isNumeric,
  isTextual,
  MANY,
  type Operands,
  refuse,
  refused,
  type Scope,
  settle,
} from '../check/scope.ts';
import { OVER_BUDGET, valuesOf } from '../compile/expressions.ts';
import {
  type Args,
  type Compiling,
  type Condition,
  type Constant,
  type Expr,
  type Expression,
  FALSE,
  type Frame,
  keyOf,
  type Operator,
  Span,
  TEXT_MAX,
  TRUE,
  Unknown,
  worse,
} from '../language/expression.ts';
import {
  calculate,
  type Edit,
  type EditsOf,
  extreme,
  type Num,
  nameOf,
  showEdited,
  within,
} from '../language/loaded-rule.ts';
import { BOOLEAN, NUMBER, SECONDS, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';

/** With one operand there is nothing to stand between: `+(a)`. */
export const infix =
  (sign: string): NonNullable<Operator['text']> =>
  (args, bracketed) =>
    args.length > 1 ? args.map(bracketed).join(` ${sign} `) : undefined;

type Sum = '+' | '-' | '*' | '/' | '%';

function sumOperator(by: Sum): Operator {
  return {
    name: by,
    isDoubtful: by === '/' || by === '%',
    text: infix(by),
    value: (args, compiling) => compileSum(by, args, compiling),
  };
}

function compileSum(by: Sum, args: Args, compiling: Compiling): Expr {
  const parts = args.map((arg) => compiling.value(arg));
  const why = `the result of \`${by}\` is no number (division by zero, or too large)`;
  const none = compiling.reasons.unknown(`the result of ${by}`, why);
  const negative = by === '-' && parts.length === 1;
  return (frame) => {
    const values = valuesOf(parts, frame);
    if (values instanceof Unknown) return values;
    let result = values[0] as Num;
    if (negative) return calculate('-', 0, result) ?? none;
    for (let i = 1; i < values.length; i++) {
      const next = calculate(by, result, values[i] as Num);
      if (next === undefined) return none;
      result = next;
    }
    return result;
  };
}

const extremeOperator = (by: 'min' | 'max'): Operator => ({
  name: by,
  value(args, compiling) {
    const parts = args.map((arg) => compiling.value(arg));
    return (frame) => {
      const values = valuesOf(parts, frame);
      return values instanceof Unknown ? values : extreme(by, values as Num[]);
    };
  },
});

/** `{"+": [text]}`: the number a text begins with, as json-logic-js reads it; unknown when there is none. */
const TO_NUMBER: Operator = {
  name: 'to_number',
  isDoubtful: true,
  value([text], compiling) {
    const value = compiling.value(text as Expression);
    const label = nameOf(text as Expression);
    const none = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} is no number`);
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found;
      const number = Number.parseFloat(found as string);
      return Number.isFinite(number) ? number : none;
    };
  },
};

function numeric(operator: Operator, min: number, max: number, swaps: readonly string[]): Form {
  return {
    min,
    max,
    usage: `write it as [number, ${max === MANY ? '…' : 'number'}]`,
    swaps,
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => settle(check(arg, placeOf(index), scope), NUMBER));
      const [only] = parts;
      if (operator.name === '+' && parts.length === 1 && only?.type.kind === 'text')
        return call(TO_NUMBER, parts, NUMBER, place);
      return refuseUnnumeric(parts, operator.name, scope)
        ? refused(place)
        : call(operator, parts, resultOf(parts), place);
    },
  };
}

/** Sums and differences of time spans stay time spans, so that they can be compared with "90d". */
function resultOf(parts: Args): ValueType {
  return parts.every((part) => part.type.kind === 'seconds') ? SECONDS : NUMBER;
}

function refuseUnnumeric(parts: Args, name: Operands['name'], scope: Scope): boolean {
  const wrong = parts.filter(({ type }) => !isNumeric(type));
  for (const { type, place, ...part } of wrong) {
    if (type.kind === 'refused') continue;
    const hint =
      type.kind === 'time'
        ? '; for how long ago it was, compare {"age": …} with a duration such as "90d"'
        : type.kind === 'text'
          ? '; {"+": [text]} makes a number of a text'
          : '';
    const message = `\`${name}\` takes numbers, but ${nameOf({ type, place, ...part })} is ${typeName(type)}${hint}`;
    scope.problem(type.kind === 'time' ? 'unit' : 'type', place, message);
  }
  return wrong.length > 0;
}

export const ARITHMETIC: Family = {
  '+': numeric(sumOperator('+'), 1, MANY, ['-']),
  '*': numeric(sumOperator('*'), 1, MANY, ['/']),
  '-': numeric(sumOperator('-'), 1, 2, ['+']),
  '/': numeric(sumOperator('/'), 2, 2, ['*']),
  '%': numeric(sumOperator('%'), 2, 2, []),
  min: numeric(extremeOperator('min'), 1, MANY, ['max']),
  max: numeric(extremeOperator('max'), 1, MANY, ['min']),
};

// `version_lt`, …, `level_lt`, …: texts that have an order of their own, each in four comparisons. Versions are as people and platforms write
// them, such as `13.1`, `macOS 13.1` or `3.2.1-beta`.

/** Texts with an order. */
interface Order<Place> {
  what: 'version' | 'level';
  /** Where it stands in the order; undefined: nowhere. */
  placeOf(text: string): Place | undefined;
  compare(a: Place, b: Place): number;
  /** Why such an operand, written out or of such a type, cannot be compared. */
  fault(part: Expression): string | undefined;
  constant?(args: Args, holds: (order: number) => boolean): Constant | undefined;
  innerEdits(written: Fact, editsOf: EditsOf): Edit[];
}

function orderTests<Place extends object | number>(order: Order<Place>): Family {
  const test = (by: 'lt' | 'lte' | 'gt' | 'gte', swaps: readonly Ordered[]): [string, Form] => [
    `${order.what}_${by}`,
    orderTest(
      order,
      by,
      swaps.map((swap) => `${order.what}_${swap}`),
    ),
  ];
  return Object.fromEntries([
    test('lt', ['lte', 'gt']),
    test('lte', ['lt', 'gt']),
    test('gt', ['gte', 'lt']),
    test('gte', ['gt', 'lt']),
  ]);
}

type Ordered = 'lt' | 'lte' | 'gt' | 'gte';

const ORDERED: Record<Ordered, { sign: string; holds(order: number): boolean }> = {
  lt: { sign: '<', holds: (order) => order < 0 },
  lte: { sign: '<=', holds: (order) => order <= 0 },
  gt: { sign: '>', holds: (order) => order > 0 },
  gte: { sign: '>=', holds: (order) => order >= 0 },
};

function orderTest<Place extends object | number>(order: Order<Place>, by: Ordered, swaps: readonly string[]): Form {
  const name = `${order.what}_${by}`;
  const { sign, holds } = ORDERED[by];
  const operator: Operator = {
    name,
    isForeign: true,
    text: (args, bracketed) => `${order.what} ${args.map(bracketed).join(` ${sign} `)}`,
    ...(order.constant && { constant: (args) => order.constant?.(args, holds) }),
    condition(args, compiling) {
      const [first, second] = args.map((arg) => placeIn(order, arg, compiling)) as [PlaceExpr<Place>, PlaceExpr<Place>];
      return (frame) => {
        const a = first(frame);
        const b = second(frame);
        if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
        if (b instanceof Unknown) return b.truth;
        return holds(order.compare(a, b)) ? TRUE : FALSE;
      };
    },
  };
  return {
    min: 2,
    max: 2,
    usage: `write it as [${order.what}, ${order.what}]`,
    swaps,
    innerEdits: order.innerEdits,
    check({ args, place, placeOf }, scope) {
      const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
      for (const part of parts) {
        const fault = part.type.kind === 'refused' ? undefined : order.fault(part);
        if (fault !== undefined) return refuse(scope, 'value', part.place, fault);
      }
      return call(operator, parts, BOOLEAN, place);
    },
  };
}

/** A text written out becomes its neighbours in the order; `14~` would be version 14 too. */
function neighbourEdits(neighboursOf: (text: string) => readonly string[]): Order<never>['innerEdits'] {
  return (written, editsOf) => {
    if (!Array.isArray(written)) return [];
    return written.flatMap((part, index) => {
      const edits =
        typeof part === 'string'
          ? neighboursOf(part).map((other) => ({
              description: `${showEdited(part)} → ${showEdited(other)}`,
              value: other,
            }))
          : editsOf(part, 'values');
      return within(edits, (edited) => written.with(index, edited));
    });
  };
}

function versionsBeside(version: string): string[] {
  const [, before, last, after] = /^(\D*(?:\d+\.)*)(\d+)(.*)$/s.exec(version) ?? [];
  if (last === undefined) return [];
  return [Number(last) + 1, Number(last) - 1]
    .filter((number) => number >= 0)
    .map((number) => `${before}${number}${after}`);
}

type PlaceExpr<Place> = (frame: Frame) => Place | Unknown;

const PLACES_KEPT = 5_000;

function placeIn<Place extends object | number>(
  order: Order<Place>,
  arg: Expression,
  compiling: Compiling,
): PlaceExpr<Place> {
  const value = compiling.value(arg);
  const label = nameOf(arg);
  const what = order.what === 'level' ? 'trust level' : order.what;
  const none = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} is no ${what}`);
  const known = new Map<string, Place | Unknown>();
  return (frame) => {
    const text = value(frame);
    if (typeof text !== 'string') return text as Unknown;
    const before = known.get(text);
    if (before !== undefined) return before;
    const place = order.placeOf(text) ?? none;
    if (known.size >= PLACES_KEPT) known.clear();
    known.set(text, place);
    return place;
  };
}

export const VERSIONS: Family = orderTests<SemVer>({
  what: 'version',
  placeOf: (text) => (text.length <= 256 && (semver.parse(text) ?? semver.coerce(text))) || undefined,
  compare: (a, b) => semver.compare(a, b),
  fault: (part) =>
    part.op === 'literal' && !semver.coerce(String(part.value))
      ? `\`${showLiteral(part.value)}\` is no version; write it as "1.2.3"`
      : undefined,
  innerEdits: neighbourEdits(versionsBeside),
});

// Trust levels, from the least to the most.

const levelPlace = (text: Fact): number | undefined => {
  const place = TRUST_LEVELS.indexOf(text as TrustLevel);
  return place < 0 ? undefined : place;
};

export const LEVELS: Family = orderTests<number>({
  what: 'level',
  placeOf: levelPlace,
  compare: (a, b) => a - b,
  fault(part) {
    const expected = `expected a trust level (${TRUST_LEVELS.join(' < ')})`;
    if (part.op === 'literal') {
      if (levelPlace(part.value) !== undefined) return undefined;
      return `${expected}, found \`${showLiteral(part.value)}\`${didYouMean(String(part.value), TRUST_LEVELS)}`;
    }
    const isOther =
      part.type.kind === 'flag' ||
      (part.type.kind === 'text' && part.type.style !== 'level' && (part.type.style || part.type.values));
    return isOther ? `${expected}, but ${nameOf(part)} has other values` : undefined;
  },
  /** At either end of the order, and for equal sides, the answer is the same for every level. */
  constant(args, holds) {
    const [a, b] = args as [Expression, Expression];
    if (keyOf(a) === keyOf(b)) return { truth: holds(0) ? 'true' : 'false', because: 'both sides are the same' };
    const places = (part: Expression) =>
      part.op === 'literal' ? [levelPlace(part.value) as number] : [...TRUST_LEVELS.keys()];
    const answers = new Set(places(a).flatMap((x) => places(b).map((y) => holds(x - y))));
    if (answers.size > 1) return undefined;
    return {
      truth: answers.has(true) ? 'true' : 'false',
      because: `levels go from ${TRUST_LEVELS[0]} to ${TRUST_LEVELS.at(-1)}`,
    };
  },
  innerEdits: neighbourEdits(levelsBeside),
});

function levelsBeside(level: string): string[] {
  const place = levelPlace(level);
  const beside = place === undefined ? [] : [TRUST_LEVELS[place + 1], TRUST_LEVELS[place - 1]];
  return beside.filter((each) => each !== undefined);
}

// `cat` and `substr`: texts made of texts and numbers, and parts of texts, as json-logic-js makes them.

const CAT: Operator = {
  name: 'cat',
  takesSteps: true,
  value(args, compiling) {
    const parts = args.map((arg) => compiling.value(arg));
    const tooLong = compiling.reasons.error(`a text grows over ${TEXT_MAX} characters`);
    const why = 'a count is only known to lie between bounds: the event log has gaps';
    const vague = compiling.reasons.unknown('the event log', why);
    return (frame) => {
      const values = valuesOf(parts, frame);
      if (values instanceof Unknown) return values;
      let text = '';
      for (const value of values) {
        if (value instanceof Span) return value.doubt === undefined ? vague : compiling.reasons.of(value.doubt);
        text += String(value);
        if (text.length > TEXT_MAX) return tooLong;
      }
      return text;
    };
  },
};

const SUBSTR: Operator = {
  name: 'substr',
  value(args, compiling) {
    const parts = args.map((arg) => compiling.value(arg));
    return (frame) => {
      const values = valuesOf(parts, frame);
      if (values instanceof Unknown) return values;
      const [text, start, length] = values;
      return part(text as string, Number(start), length === undefined ? undefined : Number(length));
    };
  },
};

/** As json-logic-js: a negative start counts from the end; a negative length leaves that many off the end. */
function part(text: string, start: number, length: number | undefined): string {
  const from = start < 0 ? Math.max(0, text.length + Math.trunc(start)) : Math.trunc(start);
  const rest = text.slice(from);
  if (length === undefined) return rest;
  const end = length < 0 ? Math.max(0, rest.length + Math.trunc(length)) : Math.trunc(length);
  return rest.slice(0, end);
}

export const TEXTS: Family = {
  cat: {
    min: 1,
    max: MANY,
    usage: 'write it as [value, …]',
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => settle(check(arg, placeOf(index), scope), TEXT));
      const bad = parts.find(
        ({ type }) => !isTextual(type) && !isNumeric(type) && type.kind !== 'boolean' && type.kind !== 'refused',
      );
      if (!bad) return call(CAT, parts, TEXT, place);
      const message = `\`cat\` joins texts and numbers, but ${nameOf(bad)} is ${typeName(bad.type)}`;
      return refuse(scope, 'type', bad.place, message);
    },
  },
  substr: {
    min: 2,
    max: 3,
    usage: 'write it as [text, start, length]',
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => settle(check(arg, placeOf(index), scope), index === 0 ? TEXT : NUMBER));
      const bad = parts.find(
        ({ type }, index) => type.kind !== 'refused' && !(index === 0 ? isTextual(type) : type.kind === 'number'),
      );
      if (!bad) return call(SUBSTR, parts, TEXT, place);
      const message = `\`substr\` takes a text, a start and a length, but ${nameOf(bad)} is ${typeName(bad.type)}`;
      return refuse(scope, 'type', bad.place, message);
    },
  },
};

// `starts_with` and `ends_with`: does a text begin or end with another.

/** A test on two texts; unknown when one of them is. */
export function textTest(args: Args, compiling: Compiling, test: (a: string, b: string) => boolean): Condition {
  const first = compiling.value(args[0] as Expression);
  const second = compiling.value(args[1] as Expression);
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
    if (b instanceof Unknown) return b.truth;
    return test(a as string, b as string) ? TRUE : FALSE;
  };
}

function partTest(name: string, usage: string, swap: string, test: (text: string, part: string) => boolean): Form {
  const operator: Operator = {
    name,
    isForeign: true,
    isTotal: true,
    text: infix(name),
    condition: (args, compiling) => textTest(args, compiling, test),
  };
  return {
    min: 2,
    max: 2,
    usage,
    swaps: [swap],
    check({ args, place, placeOf }, scope) {
      const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
      const part = parts[1];
      if (part?.op === 'literal' && part.value === '' && parts[0]?.type.kind !== 'refused')
        return refuse(scope, 'value', placeOf(1), 'every text begins and ends with the empty text');
      return call(operator, parts, BOOLEAN, place);
    },
  };
}

export const TEXT_TESTS: Family = {
  starts_with: partTest('starts_with', 'write it as [text, start]', 'ends_with', (text, part) => text.startsWith(part)),
  ends_with: partTest('ends_with', 'write it as [text, end]', 'starts_with', (text, part) => text.endsWith(part)),
};

// `matches`: does a text match a regular expression in RE2's syntax, whose time is linear in the text.

const PATTERN_MAX = 1_000;

function matches(written: string, pattern: RE2JS): Operator {
  const shown = JSON.stringify(written);
  return {
    name: 'matches',
    isForeign: true,
    takesSteps: true,
    key: ([text]) => `(matches ${text} ${shown})`,
    text: ([arg], bracketed) => `${bracketed(arg as Expression)} matches ${shown}`,
    constant: () =>
      UNLIKE.every((text) => pattern.matcher(text).find())
        ? { truth: 'true', because: `every text matches ${shown}` }
        : undefined,
    condition([arg], compiling) {
      const value = compiling.value(arg as Expression);
      const overBudget = compiling.reasons.error(OVER_BUDGET).truth;
      return (frame) => {
        const text = value(frame);
        if (text instanceof Unknown) return text.truth;
        // Linear in the text, but a long one times a large pattern is still too long.
        frame.steps -= (text as string).length;
        if (frame.steps < 0) return overBudget;
        return pattern.matcher(text as string).find() ? TRUE : FALSE;
      };
    },
  };
}

/** Texts that have nothing in common. A pattern that finds something in each of them finds it in every text. */
const UNLIKE = ['', '\u0001', 'q', '7', '-\n~', '\u{1f600}'];

export const PATTERNS: Family = {
  matches: {
    min: 2,
    max: 2,
    usage: 'write it as [text, pattern]',
    check({ args, place, placeOf }, scope) {
      const arg = checkText(args[0] ?? null, placeOf(0), 'matches', scope);
      const pattern = args[1];
      if (typeof pattern !== 'string')
        return refuse(scope, 'type', placeOf(1), 'expected a pattern, written out as a text');
      if (pattern.length > PATTERN_MAX)
        return refuse(scope, 'value', placeOf(1), 'the pattern is longer than 1,000 characters');
      try {
        return call(matches(pattern, RE2JS.compile(pattern)), [arg], BOOLEAN, place);
      } catch (error) {
        const reason = String((error as Error).message).split('\n')[0];
        return refuse(scope, 'value', placeOf(1), `not a pattern in RE2's syntax: ${reason}`);
      }
    },
  },
};
