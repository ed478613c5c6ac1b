// evaluate: finds parts of a condition that are the same for every subject whose facts are known. They are mistakes, and one
// that is always true bans everybody. In: a checked condition. Out: problems, each at the constant part.
import type { Constant, Expression } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { partsOf } from '../language/walk.ts';

/** Reports every constant part, but not the parts around it. Returns whether there is any. */
export function checkConstants(condition: Expression, report: (place: Place, message: string) => void): boolean {
  const where = condition.op === 'fact' && condition.fact.kind === 'events' ? condition.fact.count.where : undefined;
  const within = [...partsOf(condition), ...(where ? [where] : [])].map((part) => checkConstants(part, report));
  if (within.includes(true)) return true;
  const found = constantIn(condition);
  if (found) report(found.place, `this is always ${found.truth}: ${found.because}`);
  return found !== undefined;
}

function constantIn(expression: Expression): (Constant & { place: Place }) | undefined {
  if (expression.op !== 'call') return undefined;
  const { operator, args, place } = expression;
  // A literal where a condition is expected.
  const literal = args.find((arg, index) => arg.op === 'literal' && operator.asksTruthOf?.(index, args.length));
  if (literal?.op === 'literal')
    return { place: literal.place, truth: literal.value ? 'true' : 'false', because: 'it is written out' };
  const isTest = expression.type.kind === 'boolean' && !operator.joins && !operator.body;
  if (isTest && !readsAnything(expression)) return { place, truth: 'the same', because: 'it reads no fact' };
  const constant = operator.constant?.(args);
  return constant && { place, ...constant };
}

function readsAnything(expression: Expression): boolean {
  if (['fact', 'item', 'now'].includes(expression.op)) return true;
  if (expression.op === 'call' && expression.operator.looksIn) return true;
  return partsOf(expression).some(readsAnything);
}
