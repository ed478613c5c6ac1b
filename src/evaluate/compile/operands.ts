// evaluate: what the closures of several operators have in common: reading all operands, joining conditions, the budget.
// In: compiled parts. Out: values or truths. A doubt is never lost: of several, the worst one is the result.
import type { Condition, Expr, Frame } from '../language/frame.ts';
import {
  FALSE,
  type Reasons,
  TRUE,
  type Truth,
  Unknown,
  type Value,
  worse,
  worseOf,
} from '../language/three-valued.ts';

export const OVER_BUDGET = 'the condition takes too many steps for this record';

/** All values, or the worst doubt among them. */
export function valuesOf(parts: readonly Expr[], frame: Frame): Value[] | Unknown {
  const values: Value[] = [];
  let doubt: Unknown | undefined;
  for (const part of parts) {
    const value = part(frame);
    if (value instanceof Unknown) doubt = doubt ? worseOf(doubt, value) : value;
    else values.push(value);
  }
  return doubt ?? values;
}

/** True when all hold. `isWatched`: each is asked, also when the answer is known. */
export function allOf(parts: readonly Condition[], isWatched: boolean): Condition {
  if (parts.length === 1) return parts[0] as Condition;
  return (frame) => {
    let result: number = TRUE;
    for (let i = 0; i < parts.length; i++) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === TRUE) continue;
      if (truth === FALSE) {
        if (!isWatched) return FALSE;
        result = FALSE;
      } else if (result !== FALSE) result = result === TRUE ? truth : worse(result, truth);
    }
    return result;
  };
}

/** A truth as a value. */
export function truthValue(truth: Truth, reasons: Reasons): Value {
  return truth === TRUE ? true : truth === FALSE ? false : reasons.of(truth);
}
