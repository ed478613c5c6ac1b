// evaluate: typed expressions → closures: conditions that answer a truth, and values. Each operator compiles itself; this file
// compiles facts, elements and lists, shares equal conditions, and gives each condition its budget of steps.
// In: an expression. Out: (frame) → truth, or (frame) → value. No code is generated; nothing throws.
import type { Fact } from '../../domain/facts.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import { type Condition, type Expr, STEPS_MAX } from '../language/frame.ts';
import { FALSE, Reasons, TRUE, Unknown, type Value } from '../language/three-valued.ts';
import { isOfType, ownAt } from '../language/typed-value.ts';
import { isReadLate, keyOf, partsOf, readsItem } from '../language/walk.ts';
import { type Compiler, type Probe, type Slot, slotOf } from './compiler.ts';
import { readLate } from './late-facts.ts';
import { truthValue, valuesOf } from './operands.ts';

/** `probe`: sees every condition that coverage counts; nothing is cut short then. */
export function newCompiler(probe?: Probe): Compiler {
  const slots = new Map<string, Slot>();
  const compiler: Compiler = {
    reasons: new Reasons(),
    slots,
    uses: new Map(),
    conditions: new Map(),
    sharedCount: 0,
    probe,
    isWatched: probe !== undefined,
    condition: (expression) => compileCondition(expression, compiler),
    value: (expression) => compileValue(expression, compiler),
    slotIndex: (fact) => slotOf(fact, compiler).index,
  };
  return compiler;
}

/** Compiles a condition; equal conditions become one closure, and costly shared ones are evaluated once per subject. */
function compileCondition(expression: Expression, compiler: Compiler): Condition {
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

/** Comparing a fact with a literal is as cheap as looking up an earlier result. */
function isCheap(expression: Expression): boolean {
  if (expression.op !== 'call') return expression.op === 'fact' || expression.op === 'literal';
  const isPlain = expression.operator.isPlainComparison === true;
  return isPlain && expression.args.every((arg) => arg.op === 'fact' || arg.op === 'literal');
}

function compileFresh(expression: Expression, compiler: Compiler): Condition {
  const condition = conditionOf(expression, compiler);
  if (expression.op === 'call' && expression.operator.joins) return condition;
  // Each leaf has a budget of its own, so that a verdict does not depend on the order of operands.
  const bounded: Condition = takesSteps(expression) && !readsItem(expression) ? withBudget(condition) : condition;
  const { probe } = compiler;
  if (!probe) return bounded;
  return (frame) => {
    const truth = bounded(frame);
    probe(expression, truth);
    return truth;
  };
}

function conditionOf(expression: Expression, compiler: Compiler): Condition {
  const own = expression.op === 'call' ? expression.operator.condition?.(expression.args, compiler) : undefined;
  return own ?? truthOf(compiler.value(expression));
}

/** Whether evaluating takes steps from the budget. */
function takesSteps(expression: Expression): boolean {
  if (expression.op === 'list') return true;
  if (expression.op !== 'call') return false;
  return expression.operator.takesSteps === true || partsOf(expression).some(takesSteps);
}

function withBudget(condition: Condition): Condition {
  return (frame) => {
    frame.steps = STEPS_MAX;
    return condition(frame);
  };
}

/** The truth of a value: a boolean itself, a list when it is not empty. */
function truthOf(value: Expr): Condition {
  return (frame) => {
    const found = value(frame);
    if (found === true) return TRUE;
    if (found === false) return FALSE;
    if (found instanceof Unknown) return found.truth;
    return Array.isArray(found) && found.length > 0 ? TRUE : FALSE;
  };
}

function compileValue(expression: Expression, compiler: Compiler): Expr {
  switch (expression.op) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'fact':
      return compileFact(expression, compiler);
    case 'item':
      return compileItem(expression, compiler);
    case 'now':
      return (frame) => frame.nowMs;
    case 'list':
      return compileList(expression.items, compiler);
    case 'call':
      return expression.operator.value?.(expression.args, compiler) ?? compileTruth(expression, compiler);
  }
}

function compileTruth(expression: Expression, compiler: Compiler): Expr {
  const condition = compiler.condition(expression);
  const { reasons } = compiler;
  return (frame) => truthValue(condition(frame), reasons);
}

function compileFact({ fact }: ExpressionOf<'fact'>, compiler: Compiler): Expr {
  const slot = slotOf(fact, compiler);
  const { index } = slot;
  if (isReadLate(fact)) return (frame) => readLate(slot, frame);
  return (frame) => frame.slots[index] as Value;
}

function compileItem(expression: ExpressionOf<'item'>, compiler: Compiler): Expr {
  const { path, type, fallback } = expression;
  const label = expression.label === '' ? 'an element' : `…${expression.label}`;
  const missing = compiler.reasons.unknown(label, `\`${label}\` is missing in an element`);
  const wrong = compiler.reasons.unknown(label, `\`${label}\` is not of the type it should be in an element`);
  return (frame) => {
    const found = ownAt(frame.item as Fact, path);
    if (found === undefined || found === null) return fallback ?? missing;
    return isOfType(found, type) ? found : wrong;
  };
}

function compileList(items: readonly Expression[], compiler: Compiler): Expr {
  const parts = items.map((item) => compiler.value(item));
  return (frame) => {
    const values = valuesOf(parts, frame);
    return values instanceof Unknown ? values : (values as Fact[]);
  };
}
