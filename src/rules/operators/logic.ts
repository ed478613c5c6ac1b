// rules: `missing`, `missing_some`, `exists` and `??`: what has no value. The first two are how a rule asks for absence, and are
// never unknown themselves. Absent, null and the empty text count as missing, as in json-logic-js; so does a timestamp of 0,
// which was never set.

import { type Fact, isFacts } from '../../domain/facts.ts';
import {
  call,
  check,
  checkCondition,
  type Family,
  type Form,
  MANY,
  type Operands,
  pathInParts,
  refuse,
  refused,
  resolvePath,
  type Scope,
  settle,
  unify,
} from '../check/scope.ts';
import { allOf, OVER_BUDGET } from '../compile/expressions.ts';
import {
  type Args,
  type Compiling,
  type Condition,
  type Constant,
  type Expr,
  type Expression,
  type ExpressionOf,
  FALSE,
  type FactRef,
  type Frame,
  isAbsent,
  keyOf,
  not,
  type Operator,
  step,
  TRUE,
  Unknown,
  type Value,
  valueAt,
  worse,
} from '../language/expression.ts';
import { type Edit, nameOf } from '../language/loaded-rule.ts';
import type { Place } from '../language/problem.ts';
import { ANY, BOOLEAN, listOf, REFUSED, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { MERGE } from './lists.ts';
import { infix } from './numbers.ts';

// `if` (or `?:`): the first answer whose question is true, else the last.

const isQuestion = (index: number, count: number): boolean => index % 2 === 0 && index < count - 1;

const IF: Operator = {
  name: 'if',
  joins: true,
  isTotal: true,
  asksTruthOf: isQuestion,
  constant: sameAnswers,
  condition: compileIf,
  value: compileChoice,
};

function sameAnswers(args: Args): Constant | undefined {
  const answers = args.filter((_, index) => !isQuestion(index, args.length)).map(keyOf);
  if (new Set(answers).size > 1) return undefined;
  return { truth: 'the same', because: 'each answer of this `if` is the same' };
}

function compileIf(args: Args, compiling: Compiling): Condition {
  const parts = args.map((arg) => compiling.condition(arg));
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

function compileChoice(args: Args, compiling: Compiling): Expr {
  const last = args.length - 1;
  const asked = (index: number): boolean => isQuestion(index, args.length);
  const conditions = args.map((arg, index) => (asked(index) ? compiling.condition(arg) : undefined));
  const values = args.map((arg, index) => (asked(index) ? undefined : compiling.value(arg)));
  const { reasons } = compiling;
  return (frame) => {
    for (let i = 0; i < last; i += 2) {
      const truth = conditions[i]?.(frame) ?? FALSE;
      if (truth === TRUE) return (values[i + 1] as Expr)(frame);
      if (truth !== FALSE) return reasons.of(truth);
    }
    return (values[last] as Expr)(frame);
  };
}

function checkIf({ args, placeOf, place }: Operands, scope: Scope): Expression {
  if (args.length % 2 === 0) {
    const message = '`if` needs an else: without one its value would be nothing; write [condition, then, else]';
    return refuse(scope, 'operator', place, message);
  }
  const asked = (index: number): boolean => isQuestion(index, args.length);
  const parts = args.map((arg, index) => (asked(index) ? checkCondition : check)(arg, placeOf(index), scope));
  let type = ANY;
  for (const part of parts.filter((_, index) => !asked(index))) {
    const both = unify(type, part.type);
    if (!both) {
      const message = `the results of \`if\` are of one type: expected ${typeName(type)}, but ${nameOf(part)} is ${typeName(part.type)}`;
      scope.problem('type', part.place, message);
    }
    type = both ?? REFUSED;
  }
  if (type.kind === 'refused') return refused(place);
  const settled = parts.map((part, index) => (asked(index) ? part : settle(part, type)));
  return call(IF, settled, type, place);
}

const form: Form = { min: 2, max: MANY, usage: 'write it as [condition, then, else]', check: checkIf };

export const CHOICE: Family = { if: form, '?:': form };

/** The paths of timestamps among those that are written. */
type Times = ReadonlySet<string>;

/** `need`: how many of the fields suffice; undefined for `missing`. */
function missing(need: number | undefined, inItem: boolean, times: Times): Operator {
  return {
    name: need === undefined ? 'missing' : 'missing_some',
    isForeign: times.size > 0,
    takesSteps: true,
    looksIn: inItem ? 'item' : 'record',
    key: ([paths]) => `(missing ${need} ${inItem} ${[...times].sort()} ${paths})`,
    text: ([paths], bracketed) =>
      `${need === undefined ? 'missing' : `missing_some ${need} of`} ${bracketed(paths as Expression)}`,
    value: ([paths], compiling) => compileMissing(paths as Expression, need, inItem, times, compiling),
  };
}

function compileMissing(
  expression: Expression,
  need: number | undefined,
  inItem: boolean,
  times: Times,
  compiling: Compiling,
): Expr {
  const paths = compiling.value(expression);
  const overBudget = compiling.reasons.error(OVER_BUDGET);
  return (frame) => {
    const wanted = paths(frame);
    if (wanted instanceof Unknown) return wanted;
    const missing: Fact[] = [];
    for (const path of wanted as string[]) {
      if (!step(frame)) return overBudget;
      const found = foundAt(path, inItem, frame);
      if (found instanceof Unknown) return found;
      if (isAbsent(found, times.has(path))) missing.push(path);
    }
    if (need !== undefined && (wanted as string[]).length - missing.length >= need) return [];
    return missing;
  };
}

function foundAt(path: string, inItem: boolean, frame: Frame): Fact | undefined | Unknown {
  return valueAt(path.split('.'), frame, inItem ? (frame.item as Fact) : undefined);
}

function checkMissing({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const times = new Set<string>();
  const items = args.map((arg, index) => checkPaths(arg, placeOf(index), scope, times));
  // json-logic-js looks at the first operand alone when that one is a list.
  const [only] = items;
  const paths: Expression = only?.type.kind === 'list' ? only : { op: 'list', items, type: listOf(TEXT), place };
  return operation(undefined, paths, times, place, scope);
}

function checkMissingSome({ args, placeOf, place }: Operands, scope: Scope): Expression {
  const need = args[0];
  if (typeof need !== 'number' || !Number.isInteger(need) || need < 1) {
    const message = '`missing_some` begins with how many of the fields are needed, a whole number from 1';
    return refuse(scope, 'type', placeOf(0), message);
  }
  const times = new Set<string>();
  const paths = checkPaths(args[1] as Fact, placeOf(1), scope, times);
  if (paths.type.kind !== 'list')
    return refuse(scope, 'type', placeOf(1), 'expected a list of paths; write [1, ["path", …]]');
  return operation(need, paths, times, place, scope);
}

function operation(need: number | undefined, paths: Expression, times: Times, place: Place, scope: Scope): Expression {
  return call(missing(need, scope.item !== undefined, times), [paths], listOf(TEXT), place);
}

/** Paths written out, or chosen among such by `if` and `merge`. Those of timestamps are added to `times`. */
function checkPaths(raw: Fact, place: Place, scope: Scope, times: Set<string>): Expression {
  if (typeof raw === 'string') {
    const field = resolvePath(raw, place, scope);
    if (field?.type.kind === 'time') times.add(raw);
    return field ? { op: 'literal', value: raw, type: TEXT, place } : refused(place);
  }
  if (Array.isArray(raw)) {
    const items = raw.map((item, index) => checkPaths(item, [...place, index], scope, times));
    const bad = items.find((item) => item.type.kind === 'list');
    if (bad) return refuse(scope, 'type', bad.place, 'expected a path, found a list in a list');
    return { op: 'list', items, type: listOf(TEXT), place };
  }
  const [name, ...others] = isFacts(raw) ? Object.keys(raw) : [];
  if (isFacts(raw) && others.length === 0 && (name === 'merge' || name === 'if' || name === '?:'))
    return checkChosen(raw[name] as Fact, name, [...place, name], scope, times);
  const found = isFacts(raw) ? 'something computed' : nameOf({ op: 'literal', value: raw, type: TEXT, place });
  return refuse(scope, 'path', place, `expected a path written out, found ${found}`);
}

function checkChosen(
  written: Fact,
  name: 'merge' | 'if' | '?:',
  place: Place,
  scope: Scope,
  times: Set<string>,
): Expression {
  const args = Array.isArray(written) ? written : [written];
  const operator = name === 'merge' ? MERGE : IF;
  const parts = args.map((arg, index) =>
    operator.asksTruthOf?.(index, args.length)
      ? checkCondition(arg, [...place, index], scope)
      : checkPaths(arg, [...place, index], scope, times),
  );
  if (operator === IF && args.length % 2 === 0)
    return refuse(scope, 'operator', place.slice(0, -1), '`if` needs an else here');
  return call(operator, parts, listOf(TEXT), place.slice(0, -1));
}

/** Its texts are paths, and no values. */
const innerEdits: Form['innerEdits'] = (written, editsOf) => editsOf(written, 'paths');

// `exists`: whether the record has a path, be it with null; like `missing`, never unknown itself.

function existing(inItem: boolean): Operator {
  return {
    name: 'exists',
    isForeign: true,
    looksIn: inItem ? 'item' : 'record',
    key: ([path]) => `(exists ${inItem} ${path})`,
    condition([literal]) {
      const path = (literal as ExpressionOf<'literal'>).value as string;
      return (frame) => {
        const found = foundAt(path, inItem, frame);
        if (found instanceof Unknown) return found.truth;
        return found === undefined ? FALSE : TRUE;
      };
    },
  };
}

function checkExists(operands: Operands, scope: Scope): Expression {
  const { place } = operands;
  const path = pathInParts(operands, scope);
  if (path === undefined || !resolvePath(path, place, scope)) return refused(place);
  const literal: Expression = { op: 'literal', value: path, type: TEXT, place };
  return call(existing(scope.item !== undefined), [literal], BOOLEAN, place);
}

// `??`: the first of some fields that has a value, else the last operand. A field that is stale, of another type or unavailable
// is unknown, and so is the whole: the next one would speak for it.

const FIRST: Operator = {
  name: '??',
  isForeign: true,
  text: infix('??'),
  value(args, compiling) {
    const parts = args.map((arg) => compiling.value(arg));
    return (frame) => {
      let value: Value = null;
      for (const part of parts) {
        value = part(frame);
        if (!(value instanceof Unknown && value.isAbsence)) return value;
      }
      return value;
    };
  },
};

/** There may be no signal. */
function canBeAbsent(fact: FactRef): boolean {
  return fact.kind === 'path' || (fact.kind === 'events' && fact.count.what === 'last_signal');
}

function checkFirst({ args, placeOf, place }: Operands, scope: Scope): Expression {
  const parts = args.map((arg, index) => check(arg, placeOf(index), scope));
  const isField = (part: Expression) =>
    part.op === 'item' || (part.op === 'fact' && canBeAbsent(part.fact)) || part.type.kind === 'refused';
  const other = parts.slice(0, -1).find((part) => !isField(part));
  if (other) {
    const message = `\`??\` takes fields, and a value as its last operand: ${nameOf(other)} is never absent`;
    return refuse(scope, 'operator', other.place, message);
  }
  let type = ANY;
  for (const part of parts) {
    const both = unify(type, part.type);
    if (!both && part.type.kind !== 'refused') {
      const message = `the operands of \`??\` are of one type: expected ${typeName(type)}, but ${nameOf(part)} is ${typeName(part.type)}`;
      return refuse(scope, 'type', part.place, message);
    }
    type = both ?? type;
  }
  return call(
    FIRST,
    parts.map((part) => settle(part, type)),
    type,
    place,
  );
}

export const MISSING: Family = {
  exists: {
    min: 1,
    max: MANY,
    usage: 'write it as "field" or ["field", "part"]',
    check: checkExists,
    innerEdits: () => [],
  },
  '??': { min: 2, max: MANY, usage: 'write it as [{"var": "path"}, …, value]', check: checkFirst, edits: withoutOne },
  missing: { min: 1, max: MANY, usage: 'write it as ["path", …]', check: checkMissing, innerEdits },
  missing_some: { min: 2, max: 2, usage: 'write it as [1, ["path", …]]', check: checkMissingSome, innerEdits },
};

// `and`, `or`, `!` and `!!` over three-valued conditions, as in Kleene's logic.

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

export const LOG: Family = {
  log: {
    min: 1,
    max: 1,
    usage: 'write it as [value]',
    check: ({ args, placeOf }, scope) => check(args[0] ?? null, placeOf(0), scope),
  },
};
