// evaluate: whether a condition can be unknown at all, for coverage. In: a condition. Out: yes or no.
// `missing`, and what is computed from literals alone, cannot.
import type { Expression } from '../language/expression.ts';
import { partsOf } from '../language/walk.ts';

export function canBeUnknown(expression: Expression): boolean {
  if (expression.op === 'fact' || expression.op === 'item') return true;
  const { isDoubtful, looksIn } = expression.op === 'call' ? expression.operator : {};
  if (isDoubtful || (looksIn && readsVirtual(expression))) return true;
  return partsOf(expression).some(canBeUnknown);
}

/** `missing` of a part of `$owners`, `$devices` or `$spec` is unknown while these are. */
function readsVirtual(paths: Expression): boolean {
  if (paths.op === 'literal') return typeof paths.value === 'string' && paths.value.startsWith('$');
  return partsOf(paths).some(readsVirtual);
}
