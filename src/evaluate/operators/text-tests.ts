// evaluate: `starts_with` and `ends_with`: does a text begin or end with another. In: two texts. Case matters.
import { call, type Form, refuse } from '../check/scope.ts';
import { checkText } from '../check/texts.ts';
import type { Args, Compiling, Expression, Operator } from '../language/expression.ts';
import type { Condition } from '../language/frame.ts';
import { FALSE, TRUE, Unknown, worse } from '../language/three-valued.ts';
import { BOOLEAN } from '../record-types/field-types.ts';
import type { Family } from './family.ts';
import { infix } from './infix.ts';

/** A test on two texts; unknown when one of them is. */
export function textTest(args: Args, compiling: Compiling, test: (a: string, b: string) => boolean): Condition {
  const first = compiling.value(args[0] as Expression);
  const second = compiling.value(args[1] as Expression);
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
    if (b instanceof Unknown) return b.truth;
    return test(a as string, b as string) ? TRUE : FALSE;
  };
}

function partTest(name: string, usage: string, swap: string, test: (text: string, part: string) => boolean): Form {
  const operator: Operator = {
    name,
    isForeign: true,
    isTotal: true,
    text: infix(name),
    condition: (args, compiling) => textTest(args, compiling, test),
  };
  return {
    min: 2,
    max: 2,
    usage,
    swaps: [swap],
    check({ args, place, placeOf }, scope) {
      const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
      const part = parts[1];
      if (part?.op === 'literal' && part.value === '' && parts[0]?.type.kind !== 'refused')
        return refuse(scope, 'value', placeOf(1), 'every text begins and ends with the empty text');
      return call(operator, parts, BOOLEAN, place);
    },
  };
}

export const TEXT_TESTS: Family = {
  starts_with: partTest('starts_with', 'write it as [text, start]', 'ends_with', (text, part) => text.startsWith(part)),
  ends_with: partTest('ends_with', 'write it as [text, end]', 'starts_with', (text, part) => text.endsWith(part)),
};
