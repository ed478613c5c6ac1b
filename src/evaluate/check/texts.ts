// evaluate: checks an operand that must be a text. In: the operand as written. Out: a text, or a problem that names the operator.
import type { Fact } from '../../domain/facts.ts';
import type { Expression } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { TEXT, typeName } from '../record-types/field-types.ts';
import { check } from './expression.ts';
import { refuse, type Scope } from './scope.ts';
import { isTextual, settle } from './types.ts';

export function checkText(raw: Fact, place: Place, name: string, scope: Scope): Expression {
  const text = settle(check(raw, place, scope), TEXT);
  if (isTextual(text.type) || text.type.kind === 'refused') return text;
  return refuse(scope, 'type', place, `\`${name}\` takes texts, but ${nameOf(text)} is ${typeName(text.type)}`);
}
