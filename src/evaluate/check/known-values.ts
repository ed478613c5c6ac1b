// evaluate: which values a field can have: flags are "TRUE" or "FALSE", scores lie between 0 and 100, some texts are known.
// In: a field and a literal that it is compared with. Out: whether it can have that value, else a problem.
import type { Fact } from '../../domain/facts.ts';
import { showLiteral } from '../../domain/literal-text.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import { nearestName } from '../language/nearest-name.ts';
import { nameOf } from '../language/wording.ts';
import type { Scope } from './scope.ts';

/** Whether a text can be a value of that field. A flag has two values; other known values only catch typing errors. */
export function checkKnownText(field: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  if (typeof value !== 'string' || field.op === 'literal') return true;
  if (field.type.kind === 'flag') {
    if (value === 'TRUE' || value === 'FALSE') return true;
    const upper = value.trim().toUpperCase();
    const hint =
      upper === 'TRUE' || upper === 'FALSE'
        ? `; write "${upper}"`
        : value === ''
          ? '; an empty flag counts as missing: write {"missing": ["path"]}'
          : '';
    scope.problem('value', literal.place, `${nameOf(field)} is "TRUE" or "FALSE", never ${showLiteral(value)}${hint}`);
    return false;
  }
  const known = field.type.kind === 'text' ? field.type.values : undefined;
  if (!known || known.includes(value) || value === '') return true;
  const meant = known.find((each) => each.toLowerCase() === value.toLowerCase()) ?? nearestName(value, known);
  const hint =
    meant === undefined
      ? ` (known: ${known.join(', ')}); if the server has it, declare the field as \`text\` in \`declares\``
      : `; did you mean "${meant}"?`;
  scope.problem('value', literal.place, `${nameOf(field)} is not known to have the value ${showLiteral(value)}${hint}`);
  return false;
}

/** Whether a number can be a value of that field. */
export function checkScore(field: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const fault = field.type.kind === 'score' ? scoreFault(literal.value) : undefined;
  if (fault !== undefined) scope.problem('value', literal.place, `${nameOf(field)} is a trust score ${fault}`);
  return fault === undefined;
}

/** What is wrong with a number as a trust score. One between 0 and 1 was meant as a share of 1. */
export function scoreFault(value: Fact): string | undefined {
  const number = Number(value);
  if (number < 0 || number > 100) return `from 0 to 100; it is never ${showLiteral(value)}`;
  if (number === 0 || number >= 1) return undefined;
  const meant = Number((number * 100).toPrecision(12));
  return `from 0 to 100, not from 0 to 1${meant < 1 ? '' : `; did you mean ${meant}?`}`;
}
