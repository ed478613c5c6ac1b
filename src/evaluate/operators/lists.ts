// evaluate: `merge`: several lists and values as one list. In: lists or values of one type. Out: a list, a step an element.
import type { Fact } from '../../domain/facts.ts';
import { check } from '../check/expression.ts';
import { call, refuse } from '../check/scope.ts';
import { unify } from '../check/types.ts';
import { OVER_BUDGET, valuesOf } from '../compile/operands.ts';
import type { Operator } from '../language/expression.ts';
import { step } from '../language/frame.ts';
import { Unknown } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, listOf, typeName } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';

export const MERGE: Operator = {
  name: 'merge',
  takesSteps: true,
  elementsOf: (args) => args,
  value(args, compiling) {
    const parts = args.map((arg) => compiling.value(arg));
    const overBudget = compiling.reasons.error(OVER_BUDGET);
    return (frame) => {
      const values = valuesOf(parts, frame);
      if (values instanceof Unknown) return values;
      const merged: Fact[] = [];
      for (const value of values as Fact[]) {
        if (!Array.isArray(value)) merged.push(value);
        else {
          for (const element of value) {
            if (!step(frame)) return overBudget;
            merged.push(element);
          }
        }
      }
      return merged;
    };
  },
};

export const LISTS: Family = {
  merge: {
    min: 1,
    max: MANY,
    usage: 'write it as [list, …]',
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => check(arg, placeOf(index), scope));
      let of = ANY;
      for (const part of parts) {
        const both = unify(of, part.type.kind === 'list' ? part.type.of : part.type);
        if (!both) {
          const message = `a list holds values of one type: expected ${typeName(of)}, but ${nameOf(part)} is ${typeName(part.type)}`;
          return refuse(scope, 'type', part.place, message);
        }
        of = both;
      }
      return call(MERGE, parts, listOf(of), place);
    },
  },
};
