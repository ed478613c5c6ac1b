// rules: `in`: is a value among those of a list, or a text a part of a field's text. In: a value and a list, or two texts.
// A list that holds something of another type is in doubt, unless the value is found in it.
import type { Fact } from '../../domain/facts.ts';
import {
  call,
  check,
  checkCondition,
  checkKnownText,
  checkListOperand,
  checkScore,
  type Family,
  type Form,
  insideOf,
  isTextual,
  MANY,
  type Operands,
  refuse,
  refused,
  type Scope,
  settle,
  unify,
} from '../check/scope.ts';
import { OVER_BUDGET, valuesOf } from '../compile/expressions.ts';
import {
  type Args,
  type Compiling,
  type Condition,
  type Constant,
  type Expr,
  type Expression,
  type ExpressionOf,
  FALSE,
  type Frame,
  isOfType,
  not,
  type Operator,
  Span,
  step,
  TRUE,
  type Truth,
  Unknown,
  type Value,
  worse,
  worseOf,
} from '../language/expression.ts';
import { compareNumbers, isExact, type Num, nameOf } from '../language/loaded-rule.ts';
import { ANY, BOOLEAN, listOf, NUMBER, recordOf, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { infix, textTest } from './numbers.ts';

const IN: Operator = {
  name: 'in',
  isTotal: true,
  takesSteps: true,
  text: infix('in'),
  constant: everyFlagIn,
  condition: (args, compiling) =>
    args[1]?.type.kind === 'list'
      ? compileInList(args, compiling)
      : textTest(args, compiling, (part, text) => text.includes(part)),
};

function everyFlagIn([needle, list]: Args): Constant | undefined {
  if (needle?.type.kind !== 'flag' || list?.op !== 'list') return undefined;
  const flags = list.items.map((item) => (item.op === 'literal' ? item.value : undefined));
  if (!flags.includes('TRUE') || !flags.includes('FALSE')) return undefined;
  return { truth: 'true', because: 'a flag is "TRUE" or "FALSE", and both are in the list' };
}

function compileInList(args: Args, compiling: Compiling): Condition {
  const [needle, hay] = args as [Expression, Expression];
  const value = compiling.value(needle);
  if (hay.op === 'list' && hay.items.every((item) => item.op === 'literal')) {
    const members = new Set(hay.items.map((item) => (item as ExpressionOf<'literal'>).value));
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found.truth;
      if (found instanceof Span) return inSpan(found, members, compiling, needle);
      return members.has(found) ? TRUE : FALSE;
    };
  }
  if (hay.op === 'list') return compileInExpressions(value, needle, hay, compiling);
  return compileInFact(value, needle, hay, compiling);
}

function inSpan(span: Span, members: Iterable<Fact>, compiling: Compiling, needle: Expression): Truth {
  for (const member of members) {
    if (isExact(member) && member >= span.lo && member <= span.hi) {
      if (span.doubt !== undefined) return span.doubt;
      const name = nameOf(needle).replaceAll('`', '');
      return compiling.reasons.unknown(name, `\`${name}\` is only known to lie between bounds: the event log has gaps`)
        .truth;
    }
  }
  return FALSE;
}

/** A list written in the rule with computed parts: one unknown part leaves room for doubt, unless another is it. */
function compileInExpressions(
  value: Expr,
  needle: Expression,
  hay: ExpressionOf<'list'>,
  compiling: Compiling,
): Condition {
  const items = hay.items.map((item) => compiling.value(item));
  const name = nameOf(needle).replaceAll('`', '');
  const why = 'a count is only known to lie between bounds: the event log has gaps';
  const vague = compiling.reasons.unknown(name, why).truth;
  return (frame) => {
    const found = value(frame);
    let result: Truth = found instanceof Unknown ? found.truth : FALSE;
    for (const item of items) {
      const member = item(frame);
      if (member instanceof Unknown) result = result === FALSE ? member.truth : worse(result, member.truth);
      else if (member instanceof Span || found instanceof Span) {
        if (found instanceof Unknown) continue;
        const same = compareNumbers('==', found as Num, member as Num, vague);
        if (same !== FALSE) result = result === FALSE ? same : worse(result, same);
      } else if (member === found) return TRUE;
    }
    return result;
  };
}

export function compileInFact(value: Expr, needle: Expression, hay: Expression, compiling: Compiling): Condition {
  const members = compiling.value(hay);
  const of = hay.type.kind === 'list' ? hay.type.of : needle.type;
  const label = nameOf(hay);
  const wrong = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} holds something of another type`).truth;
  const overBudget = compiling.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const found = value(frame);
    const all = members(frame);
    if (all instanceof Unknown) return found instanceof Unknown ? worse(found.truth, all.truth) : all.truth;
    if (found instanceof Unknown) return found.truth;
    if (found instanceof Span) return inSpan(found, all as Fact[], compiling, needle);
    let result: Truth = FALSE;
    const list = all as Fact[];
    frame.steps -= list.length;
    if (frame.steps < 0) return overBudget;
    for (let i = 0; i < list.length; i++) {
      const member = list[i] as Fact;
      if (member === found) return TRUE;
      if (typeof member !== typeof found && !isOfType(member, of)) result = wrong;
    }
    return result;
  };
}

function checkIn(operands: Operands, scope: Scope): Expression {
  const [needleRaw, hayRaw] = operands.args;
  let needle = check(needleRaw ?? null, operands.placeOf(0), scope);
  let hay = check(hayRaw ?? null, operands.placeOf(1), scope);
  if (needle.type.kind === 'refused' || hay.type.kind === 'refused') return refused(operands.place);
  if (hay.type.kind === 'any') hay = settle(hay, isTextual(needle.type) ? listOf(TEXT) : listOf(needle.type));
  if (isTextual(hay.type)) return checkSubstring(needle, hay, operands, scope);
  if (hay.type.kind !== 'list') {
    return refuse(
      scope,
      'type',
      hay.place,
      `expected a list, but ${nameOf(hay)} is ${typeName(hay.type)}; write {"in": [value, [value, …]]}`,
    );
  }
  needle = settle(needle, hay.type.of);
  hay = settle(hay, listOf(needle.type));
  const both = hay.type.kind === 'list' ? unify(needle.type, hay.type.of) : undefined;
  if (!both || both.kind === 'list' || both.kind === 'record' || both.kind === 'time') {
    return refuse(
      scope,
      'type',
      needle.place,
      `${nameOf(needle)} is ${typeName(needle.type)} and cannot be in ${typeName(hay.type)}`,
    );
  }
  if (needle.type.kind === 'text' && needle.type.style === 'groups') {
    return refuse(
      scope,
      'type',
      needle.place,
      `${nameOf(needle)} is a comma-separated list of groups in one text; write {"in_group": "name"}`,
    );
  }
  const where = hay.op === 'list' && hay.name !== undefined ? `${nameOf(hay)}: ` : '';
  const named: Scope = { ...scope, problem: (code, place, text) => scope.problem(code, place, `${where}${text}`) };
  const canBe = (field: Expression, item: ExpressionOf<'literal'>): boolean =>
    checkScore(field, item, named) && checkKnownText(field, item, named);
  if (hay.op === 'list' && !hay.items.every((item) => item.op !== 'literal' || canBe(needle, item)))
    return refused(operands.place);
  return call(IN, [needle, hay], BOOLEAN, operands.place);
}

/** `in` with a text looks for a part of it. Only a part in a field's text makes sense. */
function checkSubstring(needle: Expression, hay: Expression, operands: Operands, scope: Scope): Expression {
  if (hay.type.kind === 'text' && hay.type.style === 'groups') {
    return refuse(
      scope,
      'type',
      hay.place,
      `${nameOf(hay)} is a comma-separated list of groups in one text, and \`in\` would find "admin" in "sysadmin"; write {"in_group": "name"}`,
    );
  }
  if (hay.op === 'literal') {
    return refuse(
      scope,
      'type',
      hay.place,
      '`in` with a text would look for a part of that text; write the values as a list: {"in": [value, ["a", "b"]]}',
    );
  }
  if (hay.type.kind === 'flag') {
    return refuse(scope, 'type', hay.place, `${nameOf(hay)} is ${typeName(hay.type)}; compare it with \`==\``);
  }
  const settled = settle(needle, TEXT);
  if (!isTextual(settled.type)) {
    return refuse(
      scope,
      'type',
      needle.place,
      `expected a text to look for, but ${nameOf(needle)} is ${typeName(needle.type)}`,
    );
  }
  if (settled.op === 'literal' && settled.value === '') {
    return refuse(scope, 'value', needle.place, 'the empty text is in every text, so this would always be true');
  }
  return call(IN, [settled, hay], BOOLEAN, operands.place);
}

export const MEMBERSHIP: Family = {
  in: { min: 2, max: 2, usage: 'write it as [value, list]', check: checkIn },
};

// `some`, `all`, `none`, `filter` and `map`: a condition or value asked of each element of a list.

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

// `merge`: several lists and values as one list.

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

// `count`: how many elements a list has, or for how many of them a condition holds.

const FROM_ZERO = [0, Number.POSITIVE_INFINITY] as const;

const LENGTH: Operator = {
  name: 'count',
  isForeign: true,
  range: FROM_ZERO,
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
  range: FROM_ZERO,
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

// `reduce`: a list folded into one value, an element after the other.

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
