// evaluate: `some`, `all`, `none`, `filter` and `map`: a condition or value asked of each element of a list. Inside, only the
// element can be read. Each element costs a step of the budget.
import type { Fact } from '../../domain/facts.ts';
import { checkListOperand, insideOf } from '../check/elements.ts';
import { check, checkCondition } from '../check/expression.ts';
import { call, type Form, refused } from '../check/scope.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Args, Compiling, Expression, Operator } from '../language/expression.ts';
import { type Condition, type Frame, step } from '../language/frame.ts';
import { FALSE, not, TRUE, type Truth, Unknown, type Value, worse, worseOf } from '../language/three-valued.ts';
import { BOOLEAN, listOf, type ValueType } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

const LOOPS = { body: { arg: 1, isElement: true }, takesSteps: true };

const SOME: Operator = { ...LOOPS, name: 'some', condition: (args, compiling) => quantify(args, compiling, TRUE) };

const NONE: Operator = {
  ...LOOPS,
  name: 'none',
  condition(args, compiling) {
    const some = quantify(args, compiling, TRUE);
    return (frame) => not(some(frame));
  },
};

const ALL: Operator = { ...LOOPS, name: 'all', condition: compileAll };

/** The list that `filter` or `map` gives; unknown as a whole when one element is: its length would be a guess. */
const FILTER: Operator = {
  ...LOOPS,
  name: 'filter',
  elementsOf: ([list]) => [list as Expression],
  // In a boolean position: true when something passes, as `some` is.
  condition: (args, compiling) => quantify(args, compiling, TRUE),
  value([list, body], compiling) {
    const elements = compiling.value(list as Expression);
    const keep = compiling.condition(body as Expression);
    const { reasons } = compiling;
    const overBudget = reasons.error(OVER_BUDGET);
    return (frame) =>
      eachElement(elements(frame), frame, overBudget, (element, result) => {
        const truth = keep(frame);
        if (truth === TRUE) result.push(element);
        return truth === TRUE || truth === FALSE ? undefined : reasons.of(truth);
      });
  },
};

const MAP: Operator = {
  ...LOOPS,
  name: 'map',
  value([list, body], compiling) {
    const elements = compiling.value(list as Expression);
    const make = compiling.value(body as Expression);
    const overBudget = compiling.reasons.error(OVER_BUDGET);
    return (frame) =>
      eachElement(elements(frame), frame, overBudget, (_, result) => {
        const value = make(frame);
        if (value instanceof Unknown) return value;
        result.push(value as Fact);
        return undefined;
      });
  },
};

function compileAll(args: Args, compiling: Compiling): Condition {
  const someFails = quantify(args, compiling, FALSE);
  const list = compiling.value(args[0] as Expression);
  return (frame) => {
    const found = list(frame);
    // As in json-logic-js: `all` of an empty list is false.
    if (Array.isArray(found) && found.length === 0) return FALSE;
    return not(someFails(frame));
  };
}

/** True when the body is `sought` for some element; false when it is not for every one; else unknown. */
function quantify(args: Args, compiling: Compiling, sought: Truth): Condition {
  const list = compiling.value(args[0] as Expression);
  const body = compiling.condition(args[1] as Expression);
  const overBudget = compiling.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const elements = list(frame);
    if (!Array.isArray(elements)) return (elements as Unknown).truth;
    const outer = frame.item;
    let result: number = FALSE;
    frame.steps -= elements.length;
    if (frame.steps < 0) return overBudget;
    for (let i = 0; i < elements.length; i++) {
      frame.item = elements[i] as Fact;
      const truth = body(frame);
      if (truth === sought) {
        result = TRUE;
        break;
      }
      if (truth !== FALSE && truth !== TRUE) result = result === FALSE ? truth : worse(result, truth);
    }
    frame.item = outer;
    return result;
  };
}

function eachElement(
  list: Value,
  frame: Frame,
  overBudget: Unknown,
  visit: (element: Fact, result: Fact[]) => Unknown | undefined,
): Value {
  if (list instanceof Unknown) return list;
  const outer = frame.item;
  const result: Fact[] = [];
  let doubt: Unknown | undefined;
  for (const element of list as Fact[]) {
    if (!step(frame)) {
      doubt = overBudget;
      break;
    }
    frame.item = element;
    const found = visit(element, result);
    if (found) doubt = doubt ? worseOf(doubt, found) : found;
  }
  frame.item = outer;
  return doubt ?? result;
}

function loop(operator: Operator, swaps: readonly string[]): Form {
  const { name } = operator;
  const isMap = operator === MAP;
  return {
    min: 2,
    max: 2,
    usage: `write it as [list, ${isMap ? 'value of an element' : 'condition on an element'}]`,
    swaps,
    check({ args, place, placeOf }, scope) {
      const operand = checkListOperand(args[0], placeOf(0), name, scope);
      if (!operand) return refused(place);
      const { list, of } = operand;
      const body = (isMap ? check : checkCondition)(args[1] ?? null, placeOf(1), insideOf(list, of, scope));
      const type: ValueType = isMap ? listOf(body.type) : operator === FILTER ? list.type : BOOLEAN;
      return call(operator, [list, body], type, place);
    },
  };
}

export const ELEMENTS: Family = {
  some: loop(SOME, ['all', 'none']),
  all: loop(ALL, ['some', 'none']),
  none: loop(NONE, ['some']),
  filter: loop(FILTER, []),
  map: loop(MAP, []),
};
