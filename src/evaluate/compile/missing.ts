// evaluate: `missing` and `missing_some` → closures: which of some paths have no value. They are never unknown themselves.
// Absent, null and the empty text count as missing, as in json-logic-js.
import type { Fact } from '../../domain/facts.ts';
import type { ExpressionOf } from '../language/expression.ts';
import { type Expr, type Frame, step, virtualOf } from '../language/frame.ts';
import { Unknown } from '../language/three-valued.ts';
import { ownAt } from '../language/typed-value.ts';
import type { Compiler } from './compiler.ts';
import { OVER_BUDGET } from './each.ts';

export function compileMissing(expression: ExpressionOf<'missing'>, compiler: Compiler): Expr {
  const paths = compiler.value(expression.paths, compiler);
  const overBudget = compiler.reasons.error(OVER_BUDGET);
  const { need, inItem } = expression;
  return (frame) => {
    const wanted = paths(frame);
    if (wanted instanceof Unknown) return wanted;
    const missing: Fact[] = [];
    for (const path of wanted as string[]) {
      if (!step(frame)) return overBudget;
      const found = valueAt(path, inItem, frame);
      if (found instanceof Unknown) return found;
      if (found === undefined || found === null || found === '') missing.push(path);
    }
    if (need !== undefined && (wanted as string[]).length - missing.length >= need) return [];
    return missing;
  };
}

function valueAt(path: string, inItem: boolean, frame: Frame): Fact | undefined | Unknown {
  const segments = path.split('.');
  if (inItem) return ownAt(frame.item as Fact, segments);
  const first = segments[0] as string;
  if (!first.startsWith('$')) return ownAt(frame.record, segments);
  const root = virtualOf(frame, first);
  if (root instanceof Unknown) return root;
  return ownAt(root as Fact, segments.slice(1));
}
