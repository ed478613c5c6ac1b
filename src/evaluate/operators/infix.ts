// evaluate: the text of an operator between its operands. In: how it is written. Out: `a in b`, `a + b + c`.
import type { Operator } from '../language/expression.ts';

/** With one operand there is nothing to stand between: `+(a)`. */
export const infix =
  (sign: string): NonNullable<Operator['text']> =>
  (args, bracketed) =>
    args.length > 1 ? args.map(bracketed).join(` ${sign} `) : undefined;
