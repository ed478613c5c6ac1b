// evaluate: `count`: how many elements a list has, or for how many of them a condition holds. In: a list, perhaps a
// condition on an element. Out: a number; with elements for which the condition is unknown, a number between two bounds.
// Each element that is asked costs a step of the budget.
import type { Fact } from '../../domain/facts.ts';
import { checkListOperand, insideOf } from '../check/elements.ts';
import { checkCondition } from '../check/expression.ts';
import { call, type Operands, refused, type Scope } from '../check/scope.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Expression, Operator } from '../language/expression.ts';
import { step } from '../language/frame.ts';
import { FALSE, Span, TRUE, type Truth, Unknown, worse } from '../language/three-valued.ts';
import { NUMBER } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

const LENGTH: Operator = {
  name: 'count',
  isForeign: true,
  isCount: true,
  value([list], compiling) {
    const elements = compiling.value(list as Expression);
    return (frame) => {
      const found = elements(frame);
      return found instanceof Unknown ? found : (found as Fact[]).length;
    };
  },
};

const COUNT_WHERE: Operator = {
  name: 'count',
  isForeign: true,
  isCount: true,
  body: { arg: 1, isElement: true },
  takesSteps: true,
  value([list, body], compiling) {
    const elements = compiling.value(list as Expression);
    const where = compiling.condition(body as Expression);
    const { reasons } = compiling;
    const overBudget = reasons.error(OVER_BUDGET);
    return (frame) => {
      const found = elements(frame);
      if (found instanceof Unknown) return found;
      const outer = frame.item;
      let [sure, open] = [0, 0];
      let doubt: Truth = FALSE;
      for (const element of found as Fact[]) {
        frame.item = element;
        const truth = step(frame) ? where(frame) : overBudget.truth;
        if (truth === TRUE) sure++;
        else if (truth !== FALSE) {
          open++;
          doubt = doubt === FALSE ? truth : worse(doubt, truth);
        }
        if (doubt < 0) break;
      }
      frame.item = outer;
      if (doubt < 0) return reasons.of(doubt);
      return open === 0 ? sure : new Span(sure, sure + open, doubt);
    };
  },
};

function checkCount({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const operand = checkListOperand(args[0], placeOf(0), name, scope);
  if (!operand) return refused(place);
  const { list, of } = operand;
  const where = args[1];
  if (where === undefined) return call(LENGTH, [list], NUMBER, place);
  const body = checkCondition(where, placeOf(1), insideOf(list, of, scope));
  return call(COUNT_WHERE, [list, body], NUMBER, place);
}

export const COUNT: Family = {
  count: {
    min: 1,
    max: 2,
    usage: 'write it as list or [list, condition on an element]',
    check: checkCount,
    edits(written) {
      const [list, where] = Array.isArray(written) ? written : [];
      if (list === undefined || where === undefined) return [];
      return [{ description: 'condition of count left out', value: { count: [list] } }];
    },
  },
};
