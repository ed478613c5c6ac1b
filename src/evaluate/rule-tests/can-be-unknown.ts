// evaluate: whether a condition can be unknown at all, for coverage: `missing` and what is computed from literals cannot.
import { type Expression, partsOf } from '../language/expression.ts';

export function canBeUnknown(expression: Expression): boolean {
  switch (expression.op) {
    case 'fact':
    case 'item':
      return true;
    case 'call':
      if (['age', '/', '%', 'to_number'].includes(expression.name)) return true;
      break;
    case 'missing':
      return partsOf(expression.paths).some(canBeUnknown) || readsVirtual(expression.paths);
  }
  return partsOf(expression).some(canBeUnknown);
}

/** `missing` of a part of `$owners`, `$devices` or `$spec` is unknown while these are. */
function readsVirtual(paths: Expression): boolean {
  if (paths.op === 'literal') return typeof paths.value === 'string' && paths.value.startsWith('$');
  return partsOf(paths).some(readsVirtual);
}
