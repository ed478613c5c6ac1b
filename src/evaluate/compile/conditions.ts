// evaluate: typed conditions → closures that answer a truth value. The skeleton: and, or, not, if, and what is shared.
// In: an expression in a boolean position. Out: (frame) → truth. No code is generated; nothing throws.

import { type Expression, type ExpressionOf, keyOf } from '../language/expression.ts';
import { type Condition, STEPS_MAX } from '../language/frame.ts';
import { FALSE, not, TRUE, Unknown, worse } from '../language/three-valued.ts';
import { compileComparison } from './comparison.ts';
import type { Compiler } from './compiler.ts';
import { compileEachCondition } from './each.ts';
import { compileTest } from './tests.ts';

/** Compiles a condition; equal conditions become one closure, and costly shared ones are evaluated once per subject. */
export function compileCondition(expression: Expression, compiler: Compiler): Condition {
  if (compiler.probe) return compileFresh(expression, compiler);
  const key = keyOf(expression);
  const known = compiler.conditions.get(key);
  if (known) return known;
  const made = share(compileFresh(expression, compiler), expression, key, compiler);
  compiler.conditions.set(key, made);
  return made;
}

/** INVARIANT: a condition that reads the loop's element is never shared: its value differs from element to element. */
function share(condition: Condition, expression: Expression, key: string, compiler: Compiler): Condition {
  if ((compiler.uses.get(key) ?? 0) < 2 || isCheap(expression) || readsItem(expression)) return condition;
  const index = compiler.sharedCount++;
  return (frame) => {
    if (frame.truthTurns[index] === frame.turn) return frame.truths[index] as number;
    const truth = condition(frame);
    frame.truths[index] = truth;
    frame.truthTurns[index] = frame.turn;
    return truth;
  };
}

/** Comparing a fact with a literal costs no more than looking up an earlier result. */
export function isCheap(expression: Expression): boolean {
  if (expression.op === 'fact' || expression.op === 'literal') return true;
  return (
    expression.op === 'compare' &&
    expression.args.length === 2 &&
    !expression.units &&
    expression.args.every((arg) => arg.op === 'fact' || arg.op === 'literal')
  );
}

function readsItem(expression: Expression): boolean {
  switch (expression.op) {
    case 'item':
      return true;
    case 'missing':
      return expression.inItem;
    case 'each':
    case 'reduce':
      return readsItem(expression.list);
    case 'compare':
    case 'call':
      return expression.args.some(readsItem);
    case 'list':
      return expression.items.some(readsItem);
    case 'matches':
      return readsItem(expression.arg);
    default:
      return false;
  }
}

const LOOPS = new Set(['each', 'reduce', 'missing', 'list', 'matches']);
const GROWING = new Set(['cat', 'merge', 'in', 'in_group']);

/** Whether evaluating takes steps from the budget. */
function isLooping(expression: Expression): boolean {
  if (LOOPS.has(expression.op)) return true;
  if (expression.op === 'compare') return expression.args.some(isLooping);
  return expression.op === 'call' && (GROWING.has(expression.name) || expression.args.some(isLooping));
}

function compileFresh(expression: Expression, compiler: Compiler): Condition {
  if (expression.op === 'call') {
    switch (expression.name) {
      case 'and':
        return compileAnd(expression.args, compiler);
      case 'or':
        return compileOr(expression.args, compiler);
      case '!':
        return negate(compiler.condition(expression.args[0] as Expression, compiler));
      case '!!':
        return compiler.condition(expression.args[0] as Expression, compiler);
      case 'if':
        return compileIf(expression, compiler);
    }
  }
  const leaf = compileLeaf(expression, compiler);
  // Each leaf has a budget of its own, so that a verdict does not depend on the order of operands.
  const bounded: Condition = isLooping(expression) && !readsItem(expression) ? withBudget(leaf) : leaf;
  const { probe } = compiler;
  if (!probe) return bounded;
  return (frame) => {
    const truth = bounded(frame);
    probe(expression, truth);
    return truth;
  };
}

function withBudget(condition: Condition): Condition {
  return (frame) => {
    frame.steps = STEPS_MAX;
    return condition(frame);
  };
}

function compileLeaf(expression: Expression, compiler: Compiler): Condition {
  if (expression.op === 'compare') return compileComparison(expression, compiler);
  if (expression.op === 'each' && expression.name !== 'map') return compileEachCondition(expression, compiler);
  return compileTest(expression, compiler) ?? truthOf(expression, compiler);
}

/** The truth of a value: a boolean itself, a list when it is not empty. */
function truthOf(expression: Expression, compiler: Compiler): Condition {
  const value = compiler.value(expression, compiler);
  return (frame) => {
    const found = value(frame);
    if (found === true) return TRUE;
    if (found === false) return FALSE;
    if (found instanceof Unknown) return found.truth;
    return Array.isArray(found) && found.length > 0 ? TRUE : FALSE;
  };
}

function negate(condition: Condition): Condition {
  return (frame) => not(condition(frame));
}

function compileAnd(args: readonly Expression[], compiler: Compiler): Condition {
  const parts = args.map((arg) => compiler.condition(arg, compiler));
  if (parts.length === 1) return parts[0] as Condition;
  const whole = compiler.probe !== undefined;
  return (frame) => {
    let result: number = TRUE;
    for (let i = 0; i < parts.length; i++) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === TRUE) continue;
      if (truth === FALSE) {
        if (!whole) return FALSE;
        result = FALSE;
      } else if (result !== FALSE) result = result === TRUE ? truth : worse(result, truth);
    }
    return result;
  };
}

function compileOr(args: readonly Expression[], compiler: Compiler): Condition {
  const parts = args.map((arg) => compiler.condition(arg, compiler));
  if (parts.length === 1) return parts[0] as Condition;
  const whole = compiler.probe !== undefined;
  return (frame) => {
    let result: number = FALSE;
    for (let i = 0; i < parts.length; i++) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === FALSE) continue;
      if (truth === TRUE) {
        if (!whole) return TRUE;
        result = TRUE;
      } else if (result !== TRUE) result = result === FALSE ? truth : worse(result, truth);
    }
    return result;
  };
}

function compileIf({ args }: ExpressionOf<'call'>, compiler: Compiler): Condition {
  const parts = args.map((arg) => compiler.condition(arg, compiler));
  return (frame) => {
    let i = 0;
    for (; i + 1 < parts.length; i += 2) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === TRUE) return (parts[i + 1] as Condition)(frame);
      if (truth !== FALSE) return truth;
    }
    return i < parts.length ? (parts[i] as Condition)(frame) : FALSE;
  };
}
