// evaluate: `log`: its operand. json-logic-js also prints it; a rule has nowhere to print to.
import { check } from '../check/expression.ts';
import type { Family } from './family.ts';

export const LOG: Family = {
  log: {
    min: 1,
    max: 1,
    usage: 'write it as [value]',
    check: ({ args, placeOf }, scope) => check(args[0] ?? null, placeOf(0), scope),
  },
};
