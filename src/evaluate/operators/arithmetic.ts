// evaluate: `+`, `-`, `*`, `/`, `%`, `min` and `max` over exact numbers and counts between bounds. In: numbers.
// A result that is no number (division by zero, too large) is unknown. Of one text, `+` makes the number it begins with.
import { check } from '../check/expression.ts';
import { call, type Form, type Operands, refused, type Scope } from '../check/scope.ts';
import { isNumeric, settle } from '../check/types.ts';
import { valuesOf } from '../compile/operands.ts';
import type { Args, Compiling, Expression, Operator } from '../language/expression.ts';
import type { Expr } from '../language/frame.ts';
import { calculate, extreme, type Num } from '../language/numbers.ts';
import { Unknown } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { NUMBER, SECONDS, typeName, type ValueType } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';
import { infix } from './infix.ts';

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
