// evaluate: typed expressions → closures that answer a value: facts, elements, numbers, texts, lists.
// In: an expression. Out: (frame) → value, where Unknown stands for what cannot be told. Nothing throws.

import type { Fact } from '../../domain/facts.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import { type Expr, type Frame, FUTURE_MAX_MS, step, TEXT_MAX } from '../language/frame.ts';
import { calculate, type Exact, extreme, type Num } from '../language/numbers.ts';
import { FALSE, Span, TRUE, Unknown, type Value, worseOf } from '../language/three-valued.ts';
import { isOfType, ownAt } from '../language/typed-value.ts';
import { nameOf } from '../language/wording.ts';
import { type Compiler, slotOf } from './compiler.ts';
import { compileEachValue, compileReduce, OVER_BUDGET, truthValue } from './each.ts';
import { readLate } from './late-facts.ts';
import { compileMissing } from './missing.ts';

export function compileValue(expression: Expression, compiler: Compiler): Expr {
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
    case 'missing':
      return compileMissing(expression, compiler);
    case 'each':
      return compileEachValue(expression, compiler);
    case 'reduce':
      return compileReduce(expression, compiler);
    case 'call':
      return compileCall(expression, compiler);
    default:
      return compileTruth(expression, compiler);
  }
}

function compileTruth(expression: Expression, compiler: Compiler): Expr {
  const condition = compiler.condition(expression, compiler);
  return (frame) => truthValue(condition(frame), compiler);
}

function compileFact({ fact }: ExpressionOf<'fact'>, compiler: Compiler): Expr {
  const slot = slotOf(fact, compiler);
  const { index } = slot;
  const isLate = fact.kind === 'events' || fact.path[0]?.startsWith('$');
  if (isLate) return (frame) => readLate(slot, frame);
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
  const parts = items.map((item) => compiler.value(item, compiler));
  return (frame) => {
    const values = valuesOf(parts, frame);
    return values instanceof Unknown ? values : (values as Fact[]);
  };
}

/** All values, or the worst doubt among them. A span among them is no single value. */
function valuesOf(parts: readonly Expr[], frame: Frame): Value[] | Unknown {
  const values: Value[] = [];
  let doubt: Unknown | undefined;
  for (const part of parts) {
    const value = part(frame);
    if (value instanceof Unknown) doubt = doubt ? worseOf(doubt, value) : value;
    else values.push(value);
  }
  return doubt ?? values;
}

function compileCall(expression: ExpressionOf<'call'>, compiler: Compiler): Expr {
  switch (expression.name) {
    case 'if':
      return compileChoice(expression, compiler);
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return compileSum(expression.name, expression, compiler);
    case 'min':
    case 'max':
      return compileExtreme(expression.name, expression, compiler);
    case 'to_number':
      return compileToNumber(expression, compiler);
    case 'age':
      return compileAge(expression, compiler);
    case 'cat':
      return compileCat(expression, compiler);
    case 'substr':
      return compileSubstr(expression, compiler);
    case 'merge':
      return compileMerge(expression, compiler);
    default:
      return compileTruth(expression, compiler);
  }
}

function compileChoice({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const last = args.length - 1;
  const conditions = args.map((arg, i) => (i % 2 === 0 && i < last ? compiler.condition(arg, compiler) : undefined));
  const values = args.map((arg, i) => (i % 2 === 1 || i === last ? compiler.value(arg, compiler) : undefined));
  return (frame) => {
    for (let i = 0; i < last; i += 2) {
      const truth = conditions[i]?.(frame) ?? FALSE;
      if (truth === TRUE) return (values[i + 1] as Expr)(frame);
      if (truth !== FALSE) return compiler.reasons.of(truth);
    }
    return (values[last] as Expr)(frame);
  };
}

function compileSum(by: '+' | '-' | '*' | '/' | '%', expression: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const parts = expression.args.map((arg) => compiler.value(arg, compiler));
  const none = compiler.reasons.unknown(
    `the result of ${by}`,
    `the result of \`${by}\` is no number (division by zero, or too large)`,
  );
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

function compileExtreme(by: 'min' | 'max', { args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const parts = args.map((arg) => compiler.value(arg, compiler));
  return (frame) => {
    const values = valuesOf(parts, frame);
    return values instanceof Unknown ? values : extreme(by, values as Num[]);
  };
}

/** `{"+": [text]}`: the number a text begins with, as json-logic-js reads it; unknown when there is none. */
function compileToNumber({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const value = compiler.value(args[0] as Expression, compiler);
  const label = nameOf(args[0] as Expression);
  const none = compiler.reasons.unknown(label.replaceAll('`', ''), `${label} is no number`);
  return (frame) => {
    const text = value(frame);
    if (text instanceof Unknown) return text;
    const number = Number.parseFloat(text as string);
    return Number.isFinite(number) ? number : none;
  };
}

function compileAge({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const value = compiler.value(args[0] as Expression, compiler);
  const label = nameOf(args[0] as Expression);
  const never = compiler.reasons.unknown(label.replaceAll('`', ''), `${label} was never set, or is no point in time`);
  return (frame) => {
    const time = value(frame);
    if (time instanceof Unknown) return time;
    const ms = epochMsOf(time as Exact);
    if (ms === undefined || ms > frame.nowMs + FUTURE_MAX_MS) return never;
    return (frame.nowMs - ms) / 1_000;
  };
}

function compileCat({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const parts = args.map((arg) => compiler.value(arg, compiler));
  const tooLong = compiler.reasons.error(`a text grows over ${TEXT_MAX} characters`);
  const vague = compiler.reasons.unknown(
    'the event log',
    'a count is only known to lie between bounds: the event log has gaps',
  );
  return (frame) => {
    const values = valuesOf(parts, frame);
    if (values instanceof Unknown) return values;
    let text = '';
    for (const value of values) {
      if (value instanceof Span) return vague;
      text += String(value);
      if (text.length > TEXT_MAX) return tooLong;
    }
    return text;
  };
}

/** As json-logic-js: a negative start counts from the end; a negative length leaves that many off the end. */
function compileSubstr({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const parts = args.map((arg) => compiler.value(arg, compiler));
  return (frame) => {
    const values = valuesOf(parts, frame);
    if (values instanceof Unknown) return values;
    const [text, start, length] = [
      values[0] as string,
      Number(values[1]),
      values[2] === undefined ? undefined : Number(values[2]),
    ];
    const from = start < 0 ? Math.max(0, text.length + Math.trunc(start)) : Math.trunc(start);
    const rest = text.slice(from);
    if (length === undefined) return rest;
    return length < 0
      ? rest.slice(0, Math.max(0, rest.length + Math.trunc(length)))
      : rest.slice(0, Math.trunc(length));
  };
}

function compileMerge({ args }: ExpressionOf<'call'>, compiler: Compiler): Expr {
  const parts = args.map((arg) => compiler.value(arg, compiler));
  const overBudget = compiler.reasons.error(OVER_BUDGET);
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
}
