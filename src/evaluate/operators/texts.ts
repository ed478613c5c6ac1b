// evaluate: `cat` and `substr`: texts made of texts and numbers, and parts of texts, as json-logic-js makes them.
import { check } from '../check/expression.ts';
import { call, refuse } from '../check/scope.ts';
import { isNumeric, isTextual, settle } from '../check/types.ts';
import { valuesOf } from '../compile/operands.ts';
import type { Operator } from '../language/expression.ts';
import { TEXT_MAX } from '../language/frame.ts';
import { Span, Unknown } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { NUMBER, TEXT, typeName } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';

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
