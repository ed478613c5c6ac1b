// evaluate: `and`, `or`, `!` and `!!` over three-valued conditions, as in Kleene's logic.
// In: conditions. Out: a condition. A text such as "TRUE" in a boolean position is a load error.
import type { Fact } from '../../domain/facts.ts';
import { checkCondition } from '../check/expression.ts';
import { call, type Form } from '../check/scope.ts';
import { allOf } from '../compile/operands.ts';
import type { Edit } from '../language/edits.ts';
import type { Expression, Operator } from '../language/expression.ts';
import type { Condition } from '../language/frame.ts';
import { FALSE, not, TRUE, worse } from '../language/three-valued.ts';
import { BOOLEAN, type ValueType } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';
import { infix } from './infix.ts';

const JOINS = { joins: true, isTotal: true, asksTruthOf: () => true };

const AND: Operator = {
  ...JOINS,
  name: 'and',
  isConjunction: true,
  text: infix('and'),
  condition: (args, { condition, isWatched }) => allOf(args.map(condition), isWatched),
};

const OR: Operator = {
  ...JOINS,
  name: 'or',
  text: infix('or'),
  condition: (args, { condition, isWatched }) => anyOf(args.map(condition), isWatched),
};

const NOT: Operator = {
  ...JOINS,
  name: '!',
  text: ([arg], bracketed) => `not ${bracketed(arg as Expression)}`,
  condition([arg], compiling) {
    const condition = compiling.condition(arg as Expression);
    return (frame) => not(condition(frame));
  },
};

const TRUTH: Operator = {
  ...JOINS,
  name: '!!',
  text: ([arg], bracketed) => bracketed(arg as Expression),
  condition: ([arg], compiling) => compiling.condition(arg as Expression),
};

function anyOf(parts: readonly Condition[], isWatched: boolean): Condition {
  if (parts.length === 1) return parts[0] as Condition;
  return (frame) => {
    let result: number = FALSE;
    for (let i = 0; i < parts.length; i++) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === FALSE) continue;
      if (truth === TRUE) {
        if (!isWatched) return TRUE;
        result = TRUE;
      } else if (result !== TRUE) result = result === FALSE ? truth : worse(result, truth);
    }
    return result;
  };
}

function joining(operator: Operator, swap: string): Form {
  return {
    min: 1,
    max: MANY,
    usage: 'write it as [condition, …]',
    swaps: [swap],
    edits: withoutOne,
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => checkCondition(arg, placeOf(index), scope));
      const isBoolean = parts.every((part) => part.type.kind === 'boolean');
      const type: ValueType = isBoolean ? BOOLEAN : { kind: 'condition' };
      return call(operator, parts, type, place);
    },
  };
}

function withoutOne(written: Fact, name: string): Edit[] {
  if (!Array.isArray(written) || written.length < 2) return [];
  return written.map((_, index) => ({
    description: `operand ${index + 1} of ${name} left out`,
    value: { [name]: written.toSpliced(index, 1) },
  }));
}

function single(operator: Operator): Form {
  return {
    min: 1,
    max: 1,
    usage: 'write it as [condition]',
    edits: (written, name) => [
      { description: `${name} left out`, value: Array.isArray(written) ? (written[0] ?? null) : written },
    ],
    check: ({ args, place, placeOf }, scope) =>
      call(operator, [checkCondition(args[0] ?? null, placeOf(0), scope)], BOOLEAN, place),
  };
}

export const LOGIC: Family = {
  and: joining(AND, 'or'),
  or: joining(OR, 'and'),
  '!': single(NOT),
  '!!': single(TRUTH),
};
