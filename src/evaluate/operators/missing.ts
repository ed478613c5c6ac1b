// evaluate: `missing` and `missing_some`: which of some paths have no value. They are how a rule asks for absence, and are
// never unknown themselves. Absent, null and the empty text count as missing, as in json-logic-js; so does a timestamp of 0,
// which was never set.
import { type Fact, isFacts } from '../../domain/facts.ts';
import { checkCondition } from '../check/expression.ts';
import { resolvePath } from '../check/paths.ts';
import { call, type Form, type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Compiling, Expression, Operator } from '../language/expression.ts';
import { type Expr, type Frame, step, virtualOf } from '../language/frame.ts';
import type { Place } from '../language/problem.ts';
import { Unknown } from '../language/three-valued.ts';
import { isAbsent, ownAt } from '../language/typed-value.ts';
import { nameOf } from '../language/wording.ts';
import { listOf, TEXT } from '../record-types/field-types.ts';
import { IF } from './choice.ts';
import { type Family, MANY } from './family.ts';
import { MERGE } from './lists.ts';

/** The paths of timestamps among those that are written. */
type Times = ReadonlySet<string>;

/** `need`: how many of the fields suffice; undefined for `missing`. */
function missing(need: number | undefined, inItem: boolean, times: Times): Operator {
  return {
    name: need === undefined ? 'missing' : 'missing_some',
    isForeign: times.size > 0,
    takesSteps: true,
    looksIn: inItem ? 'item' : 'record',
    key: ([paths]) => `(missing ${need} ${inItem} ${[...times].sort()} ${paths})`,
    text: ([paths], bracketed) =>
      `${need === undefined ? 'missing' : `missing_some ${need} of`} ${bracketed(paths as Expression)}`,
    value: ([paths], compiling) => compileMissing(paths as Expression, need, inItem, times, compiling),
  };
}

function compileMissing(
  expression: Expression,
  need: number | undefined,
  inItem: boolean,
  times: Times,
  compiling: Compiling,
): Expr {
  const paths = compiling.value(expression);
  const overBudget = compiling.reasons.error(OVER_BUDGET);
  return (frame) => {
    const wanted = paths(frame);
    if (wanted instanceof Unknown) return wanted;
    const missing: Fact[] = [];
    for (const path of wanted as string[]) {
      if (!step(frame)) return overBudget;
      const found = valueAt(path, inItem, frame);
      if (found instanceof Unknown) return found;
      if (isAbsent(found, times.has(path))) missing.push(path);
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

function checkMissing({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const times = new Set<string>();
  const items = args.map((arg, index) => checkPaths(arg, placeOf(index), scope, times));
  // json-logic-js looks at the first operand alone when that one is a list.
  const [only] = items;
  const paths: Expression = only?.type.kind === 'list' ? only : { op: 'list', items, type: listOf(TEXT), place };
  return operation(undefined, paths, times, place, scope);
}

function checkMissingSome({ args, placeOf, place }: Operands, scope: Scope): Expression {
  const need = args[0];
  if (typeof need !== 'number' || !Number.isInteger(need) || need < 1) {
    const message = '`missing_some` begins with how many of the fields are needed, a whole number from 1';
    return refuse(scope, 'type', placeOf(0), message);
  }
  const times = new Set<string>();
  const paths = checkPaths(args[1] as Fact, placeOf(1), scope, times);
  if (paths.type.kind !== 'list')
    return refuse(scope, 'type', placeOf(1), 'expected a list of paths; write [1, ["path", …]]');
  return operation(need, paths, times, place, scope);
}

function operation(need: number | undefined, paths: Expression, times: Times, place: Place, scope: Scope): Expression {
  return call(missing(need, scope.item !== undefined, times), [paths], listOf(TEXT), place);
}

/** Paths written out, or chosen among such by `if` and `merge`. Those of timestamps are added to `times`. */
function checkPaths(raw: Fact, place: Place, scope: Scope, times: Set<string>): Expression {
  if (typeof raw === 'string') {
    const field = resolvePath(raw, place, scope);
    if (field?.type.kind === 'time') times.add(raw);
    return field ? { op: 'literal', value: raw, type: TEXT, place } : refused(place);
  }
  if (Array.isArray(raw)) {
    const items = raw.map((item, index) => checkPaths(item, [...place, index], scope, times));
    const bad = items.find((item) => item.type.kind === 'list');
    if (bad) return refuse(scope, 'type', bad.place, 'expected a path, found a list in a list');
    return { op: 'list', items, type: listOf(TEXT), place };
  }
  const [name, ...others] = isFacts(raw) ? Object.keys(raw) : [];
  if (isFacts(raw) && others.length === 0 && (name === 'merge' || name === 'if' || name === '?:'))
    return checkChosen(raw[name] as Fact, name, [...place, name], scope, times);
  const found = isFacts(raw) ? 'something computed' : nameOf({ op: 'literal', value: raw, type: TEXT, place });
  return refuse(scope, 'path', place, `expected a path written out, found ${found}`);
}

function checkChosen(
  written: Fact,
  name: 'merge' | 'if' | '?:',
  place: Place,
  scope: Scope,
  times: Set<string>,
): Expression {
  const args = Array.isArray(written) ? written : [written];
  const operator = name === 'merge' ? MERGE : IF;
  const parts = args.map((arg, index) =>
    operator.asksTruthOf?.(index, args.length)
      ? checkCondition(arg, [...place, index], scope)
      : checkPaths(arg, [...place, index], scope, times),
  );
  if (operator === IF && args.length % 2 === 0)
    return refuse(scope, 'operator', place.slice(0, -1), '`if` needs an else here');
  return call(operator, parts, listOf(TEXT), place.slice(0, -1));
}

/** Its texts are paths, and no values. */
const innerEdits: Form['innerEdits'] = (written, editsOf) => editsOf(written, 'paths');

export const MISSING: Family = {
  missing: { min: 1, max: MANY, usage: 'write it as ["path", …]', check: checkMissing, innerEdits },
  missing_some: { min: 2, max: 2, usage: 'write it as [1, ["path", …]]', check: checkMissingSome, innerEdits },
};
