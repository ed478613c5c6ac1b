// evaluate: `some`, `all`, `none`, `filter`, `map` and `reduce` → closures. Each element costs a step of the budget.
import type { Fact } from '../../domain/facts.ts';
import type { ExpressionOf } from '../language/expression.ts';
import { type Condition, type Expr, type Frame, step } from '../language/frame.ts';
import {
  FALSE,
  not,
  TRUE,
  type Unknown,
  Unknown as UnknownValue,
  type Value,
  worse,
  worseOf,
} from '../language/three-valued.ts';
import type { Compiler } from './compiler.ts';

type Each = ExpressionOf<'each'>;

export const OVER_BUDGET = 'the condition takes too many steps for this record';

/** A quantifier, or a `filter` in a boolean position: true when something passes, as `some` is. */
export function compileEachCondition(expression: Each, compiler: Compiler): Condition {
  const { name } = expression;
  if (name === 'none') return negated(quantify(expression, compiler, TRUE));
  if (name === 'all') return compileAll(expression, compiler);
  return quantify(expression, compiler, TRUE);
}

function negated(condition: Condition): Condition {
  return (frame) => not(condition(frame));
}

function compileAll(expression: Each, compiler: Compiler): Condition {
  const noneFails = quantify(expression, compiler, FALSE);
  const list = compiler.value(expression.list, compiler);
  return (frame) => {
    const found = list(frame);
    // As in json-logic-js: `all` of an empty list is false.
    if (Array.isArray(found) && found.length === 0) return FALSE;
    return not(noneFails(frame));
  };
}

/** True when the body is `sought` for some element; false when it is not for every one; else unknown. */
function quantify(expression: Each, compiler: Compiler, sought: number): Condition {
  const list = compiler.value(expression.list, compiler);
  const body = compiler.condition(expression.body, compiler);
  const overBudget = compiler.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const found = list(frame);
    if (found instanceof UnknownValue) return found.truth;
    const outer = frame.item;
    let result: number = FALSE;
    const elements = found as Fact[];
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

/** The list that `filter` or `map` gives; unknown as a whole when one element is: its length would be a guess. */
export function compileEachValue(expression: Each, compiler: Compiler): Expr {
  if (expression.name !== 'filter' && expression.name !== 'map') {
    const condition = compiler.condition(expression, compiler);
    return (frame) => truthValue(condition(frame), compiler);
  }
  const list = compiler.value(expression.list, compiler);
  const keep = expression.name === 'filter' ? compiler.condition(expression.body, compiler) : undefined;
  const make = expression.name === 'map' ? compiler.value(expression.body, compiler) : undefined;
  const overBudget = compiler.reasons.error(OVER_BUDGET);
  return (frame) =>
    eachElement(list(frame), frame, overBudget, (element, result) => {
      if (make) return collect(make(frame), result);
      const truth = keep?.(frame) ?? FALSE;
      if (truth === TRUE) result.push(element);
      return truth === TRUE || truth === FALSE ? undefined : compiler.reasons.of(truth);
    });
}

function collect(value: Value, result: Fact[]): Unknown | undefined {
  if (value instanceof UnknownValue) return value;
  result.push(value as Fact);
  return undefined;
}

function eachElement(
  list: Value,
  frame: Frame,
  overBudget: Unknown,
  visit: (element: Fact, result: Fact[]) => Unknown | undefined,
): Value {
  if (list instanceof UnknownValue) return list;
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

export function compileReduce(expression: ExpressionOf<'reduce'>, compiler: Compiler): Expr {
  const list = compiler.value(expression.list, compiler);
  const start = compiler.value(expression.start, compiler);
  const body = compiler.value(expression.body, compiler);
  const overBudget = compiler.reasons.error(OVER_BUDGET);
  return (frame) => {
    const found = list(frame);
    let accumulator = start(frame);
    if (found instanceof UnknownValue) return accumulator instanceof UnknownValue ? worseOf(found, accumulator) : found;
    const outer = frame.item;
    for (const current of found as Fact[]) {
      if (accumulator instanceof UnknownValue) break;
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
}

/** A truth value as a value. */
export function truthValue(truth: number, compiler: Compiler): Value {
  return truth === TRUE ? true : truth === FALSE ? false : compiler.reasons.of(truth);
}
