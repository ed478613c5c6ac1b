// rules: `+`, `-`, `*`, `/`, `%`, `min` and `max` over exact numbers and counts between bounds. In: numbers.
// A result that is no number (division by zero, too large) is unknown. Of one text, `+` makes the number it begins with.

import { RE2JS } from 're2js';
import type { SemVer } from 'semver';
import semver from 'semver';
import { epochMsOf } from '../../base/time.ts';
import { type Fact, showLiteral } from '../../domain/facts.ts';
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
  type Expr,
  type Expression,
  FALSE,
  type Frame,
  FUTURE_MAX_MS,
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
  type Exact,
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

// `version_lt`, `version_lte`, `version_gt`, `version_gte`: versions as people and platforms write them, such as
// `13.1`, `macOS 13.1` or `3.2.1-beta`.

function versionTest(name: string, sign: string, holds: (order: number) => boolean, swaps: readonly string[]): Form {
  const operator: Operator = {
    name,
    isForeign: true,
    text: (args, bracketed) => `version ${args.map(bracketed).join(` ${sign} `)}`,
    condition(args, compiling) {
      const [first, second] = args.map((arg) => versionOf(arg, compiling)) as [VersionExpr, VersionExpr];
      return (frame) => {
        const a = first(frame);
        const b = second(frame);
        if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
        if (b instanceof Unknown) return b.truth;
        return holds(semver.compare(a, b)) ? TRUE : FALSE;
      };
    },
  };
  return {
    min: 2,
    max: 2,
    usage: 'write it as [version, version]',
    swaps,
    innerEdits: versionEdits,
    check({ args, place, placeOf }, scope) {
      const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
      const wrong = parts.find((part) => part.op === 'literal' && isNoVersion(part));
      if (wrong?.op !== 'literal') return call(operator, parts, BOOLEAN, place);
      const message = `\`${showLiteral(wrong.value)}\` is no version; write it as "1.2.3"`;
      return refuse(scope, 'value', wrong.place, message);
    },
  };
}

/** A version written out becomes the one before and the one after it; `14~` would be version 14 too. */
function versionEdits(written: Fact, editsOf: EditsOf): Edit[] {
  if (!Array.isArray(written)) return [];
  return written.flatMap((part, index) => {
    const edits = typeof part === 'string' ? neighboursOf(part) : editsOf(part, 'values');
    return within(edits, (edited) => written.with(index, edited));
  });
}

function neighboursOf(version: string): Edit[] {
  const [, before, last, after] = /^(\D*(?:\d+\.)*)(\d+)(.*)$/s.exec(version) ?? [];
  if (last === undefined) return [];
  return [Number(last) + 1, Number(last) - 1]
    .filter((number) => number >= 0)
    .map((number) => `${before}${number}${after}`)
    .map((other) => ({ description: `${showEdited(version)} → ${showEdited(other)}`, value: other }));
}

const isNoVersion = (part: Expression & { op: 'literal' }): boolean =>
  part.type.kind !== 'refused' && !semver.coerce(String(part.value));

type VersionExpr = (frame: Frame) => SemVer | Unknown;

const VERSIONS_KEPT = 5_000;

function versionOf(arg: Expression, compiling: Compiling): VersionExpr {
  const value = compiling.value(arg);
  const label = nameOf(arg);
  const none = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} is no version`);
  const known = new Map<string, SemVer | Unknown>();
  return (frame) => {
    const text = value(frame);
    if (typeof text !== 'string') return text as Unknown;
    const before = known.get(text);
    if (before) return before;
    const version = (text.length <= 256 && (semver.parse(text) ?? semver.coerce(text))) || none;
    if (known.size >= VERSIONS_KEPT) known.clear();
    known.set(text, version);
    return version;
  };
}

export const VERSIONS: Family = {
  version_lt: versionTest('version_lt', '<', (order) => order < 0, ['version_lte', 'version_gt']),
  version_lte: versionTest('version_lte', '<=', (order) => order <= 0, ['version_lt', 'version_gt']),
  version_gt: versionTest('version_gt', '>', (order) => order > 0, ['version_gte', 'version_lt']),
  version_gte: versionTest('version_gte', '>=', (order) => order >= 0, ['version_gt', 'version_lt']),
};

// `age`: how many seconds ago a time was; negative for one that is ahead.

const ageOf: Operator = {
  name: 'age',
  isForeign: true,
  isDoubtful: true,
  readsTime: true,
  value([time], compiling) {
    const value = compiling.value(time as Expression);
    const label = nameOf(time as Expression);
    const why = `${label} was never set, or is no point in time`;
    const never = compiling.reasons.unknown(label.replaceAll('`', ''), why);
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found;
      const ms = epochMsOf(found as Exact);
      if (ms === undefined || ms > frame.nowMs + FUTURE_MAX_MS) return never;
      return (frame.nowMs - ms) / 1_000;
    };
  },
};

export const AGE: Family = {
  age: {
    min: 1,
    max: 1,
    usage: 'write it as {"var": "path of a timestamp"}',
    check({ args, place, placeOf }, scope) {
      if (scope.subject === 'event') {
        const message = '`age` cannot be asked inside `where`: an event is judged once, when it arrives; use `within`';
        return refuse(scope, 'operator', place, message);
      }
      const time = settle(check(args[0] ?? null, placeOf(0), scope), { kind: 'time', unit: 'any' });
      if (time.type.kind === 'time' || time.type.kind === 'refused') return call(ageOf, [time], SECONDS, place);
      const isText = time.type.kind === 'text' && time.op === 'literal';
      const hint = isText ? `; write {"age": {"var": "${time.value}"}}` : '';
      const message = `\`age\` takes a timestamp, but ${nameOf(time)} is ${typeName(time.type)}${hint}`;
      return refuse(scope, 'type', time.place, message);
    },
  },
};

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
