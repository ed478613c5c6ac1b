// rules: `cat` and `substr`: texts made of texts and numbers, and parts of texts, as json-logic-js makes them.

import { RE2JS } from 're2js';
import { call, check, checkText, type Form, isNumeric, isTextual, refuse, settle } from '../check/scope.ts';
import { OVER_BUDGET, valuesOf } from '../compile/expressions.ts';
import {
  type Args,
  type Compiling,
  type Condition,
  type Expression,
  FALSE,
  type Operator,
  Span,
  TEXT_MAX,
  TRUE,
  Unknown,
  worse,
} from '../language/expression.ts';
import { nameOf } from '../language/loaded-rule.ts';
import { BOOLEAN, NUMBER, TEXT, typeName } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';
import { infix } from './numbers.ts';

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
