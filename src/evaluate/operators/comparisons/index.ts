// evaluate: `==`, `===`, `!=`, `!==`, `<`, `<=`, `>` and `>=`: two values of one kind, or a value between two others.
// In: operands of one kind, in one unit. Out: a condition; unknown when a count's bounds lie on both sides.
import type { Fact } from '../../../domain/facts.ts';
import { check } from '../../check/expression.ts';
import { call, type Form, type Operands, refuse, refused, type Scope } from '../../check/scope.ts';
import type { Args, Expression, Operator } from '../../language/expression.ts';
import type { Comparison } from '../../language/numbers.ts';
import { BOOLEAN } from '../../record-types/field-types.ts';
import type { Family } from '../family.ts';
import { infix } from '../infix.ts';
import { relate, type Units } from './check.ts';
import { compileComparison } from './compile.ts';
import { constantComparison } from './constant.ts';

/** `units`: set when two times of different units meet: json-logic-js would compare the bare numbers. */
function comparison(by: Comparison, units: Units | undefined, count: number): Operator {
  return {
    name: by,
    isForeign: units !== undefined,
    isTotal: units === undefined,
    isPlainComparison: units === undefined && count === 2,
    key: (args) => `(${by}${units?.join('/') ?? ''} ${args.join(' ')})`,
    text: infix(by),
    constant: (args) => constantComparison(by, args),
    condition: (args, compiling) => compileComparison(by, units, args, compiling),
  };
}

function comparing(name: string, by: Comparison, max: 2 | 3, swaps: readonly string[]): [string, Form] {
  const usage = max === 2 ? 'write it as [value, value]' : 'write it as [value, value] or [low, value, high]';
  return [name, { min: 2, max, usage, swaps, check: (operands, scope) => checkComparison(by, operands, scope) }];
}

function checkComparison(by: Comparison, { args, place, placeOf }: Operands, scope: Scope): Expression {
  const written = args.map((arg, index) => checkSide(arg, placeOf(index), scope));
  let sides: Args = written.filter((side) => side !== undefined);
  if (sides.length < written.length) return refused(place);
  let units: Units | undefined;
  for (let i = 0; i + 1 < sides.length; i++) {
    const related = relate(by, sides[i] as Expression, sides[i + 1] as Expression, scope);
    if (!related) return refused(place);
    sides = sides.with(i, related.a).with(i + 1, related.b);
    units = related.units ?? units;
  }
  if (units && sides.length > 2) {
    const message = 'times of different units can be compared two at a time; join two comparisons with `and`';
    return refuse(scope, 'unit', place, message);
  }
  return call(comparison(by, units, sides.length), sides, BOOLEAN, place);
}

/** `null` has its own message here, because comparing with it is how absence is tested elsewhere. */
function checkSide(arg: Fact, place: Operands['place'], scope: Scope): Expression | undefined {
  if (arg !== null) return check(arg, place, scope);
  const message =
    'comparing with `null` is always unknown; to ask whether a field is absent, write {"missing": ["path"]}';
  scope.problem('type', place, message);
  return undefined;
}

export const COMPARISONS: Family = Object.fromEntries([
  comparing('==', '==', 2, ['!=']),
  comparing('===', '==', 2, ['!==']),
  comparing('!=', '!=', 2, ['==']),
  comparing('!==', '!=', 2, ['===']),
  comparing('<', '<', 3, ['<=', '>']),
  comparing('<=', '<=', 3, ['<', '>']),
  comparing('>', '>', 2, ['>=', '<']),
  comparing('>=', '>=', 2, ['>', '<']),
]);
