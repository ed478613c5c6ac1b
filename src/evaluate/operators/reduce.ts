// evaluate: `reduce`: a list folded into one value, an element after the other. In: a list, a value of `current` and
// `accumulator`, and a start. Out: the last accumulator; unknown as soon as one is. Each element costs a step.
import type { Fact } from '../../domain/facts.ts';
import { checkListOperand, insideOf } from '../check/elements.ts';
import { check } from '../check/expression.ts';
import { call, type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { settle, unify } from '../check/types.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Expression, Operator } from '../language/expression.ts';
import { type Expr, step } from '../language/frame.ts';
import { Unknown, worseOf } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { recordOf, typeName } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

const FOLD: Operator = {
  name: 'reduce',
  body: { arg: 1, isElement: false },
  takesSteps: true,
  value(args, compiling) {
    const [list, body, start] = args.map((arg) => compiling.value(arg)) as [Expr, Expr, Expr];
    const overBudget = compiling.reasons.error(OVER_BUDGET);
    return (frame) => {
      const found = list(frame);
      let accumulator = start(frame);
      if (found instanceof Unknown) return accumulator instanceof Unknown ? worseOf(found, accumulator) : found;
      const outer = frame.item;
      for (const current of found as Fact[]) {
        if (accumulator instanceof Unknown) break;
        if (!step(frame)) {
          accumulator = overBudget;
          break;
        }
        frame.item = { current, accumulator: accumulator as Fact };
        accumulator = body(frame);
      }
      frame.item = outer;
      return accumulator;
    };
  },
};

function checkReduce({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const operand = checkListOperand(args[0], placeOf(0), name, scope);
  const start = check(args[2] ?? null, placeOf(2), scope);
  if (!operand || start.type.kind === 'refused') return refused(place);
  const { list, of } = operand;
  const item = recordOf({ current: of, accumulator: start.type });
  const body = settle(check(args[1] ?? null, placeOf(1), insideOf(list, item, scope)), start.type);
  if (body.type.kind === 'refused') return refused(place);
  const type = unify(start.type, body.type);
  if (type) return call(FOLD, [list, body, start], type, place);
  const message = `\`reduce\` begins with ${typeName(start.type)}, but ${nameOf(body)} is ${typeName(body.type)}`;
  return refuse(scope, 'type', placeOf(1), message);
}

export const REDUCE: Family = {
  reduce: {
    min: 3,
    max: 3,
    usage: 'write it as [list, value from "current" and "accumulator", start]',
    check: checkReduce,
  },
};
