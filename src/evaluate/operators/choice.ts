// evaluate: `if` (or `?:`): the first answer whose question is true, else the last. In: questions and answers in turn, and an
// else. Out: an answer; unknown as soon as a question is, since another answer might be the right one.
import { check, checkCondition } from '../check/expression.ts';
import { call, type Form, type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { settle, unify } from '../check/types.ts';
import type { Args, Compiling, Constant, Expression, Operator } from '../language/expression.ts';
import type { Condition, Expr } from '../language/frame.ts';
import { FALSE, TRUE } from '../language/three-valued.ts';
import { keyOf } from '../language/walk.ts';
import { nameOf } from '../language/wording.ts';
import { ANY, REFUSED, typeName } from '../record-types/field-types.ts';
import { type Family, MANY } from './family.ts';

const isQuestion = (index: number, count: number): boolean => index % 2 === 0 && index < count - 1;

export const IF: Operator = {
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
