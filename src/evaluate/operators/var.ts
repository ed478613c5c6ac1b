// evaluate: `var`: a field of the record or of the element, `$now`, or a part of what is joined. In: a path that is written
// out, and perhaps a default. Out: a fact. It is no operation afterwards: what is read is part of the tree itself.
import { type Fact, isFacts } from '../../domain/facts.ts';
import { scoreFault } from '../check/known-values.ts';
import { factAt, resolvePath } from '../check/paths.ts';
import { type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { isNumeric } from '../check/types.ts';
import { type Edit, literalEdits, within } from '../language/edits.ts';
import type { Expression } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { typeName, type ValueType } from '../record-types/field-types.ts';
import { NOW_TYPE } from '../record-types/index.ts';
import type { Family } from './family.ts';

function checkVar({ args, placeOf, place }: Operands, scope: Scope): Expression {
  const written = args[0] ?? '';
  if (typeof written !== 'string' && typeof written !== 'number') {
    return refuse(
      scope,
      'path',
      placeOf(0),
      'a path must be written out as a text, so that the facts a rule reads are known at load',
    );
  }
  const path = String(written);
  const pathPlace = args.length > 0 ? placeOf(0) : place;
  if (path === '$now') return checkNow(pathPlace, scope);
  const field = resolvePath(path, pathPlace, scope);
  if (!field) return refused(pathPlace);
  const fallback = args[1];
  if (fallback !== undefined && !checkFallback(fallback, field.type, path, placeOf(1), scope)) return refused(place);
  return factAt(path, field, fallback, pathPlace, scope);
}

function checkNow(place: Place, scope: Scope): Expression {
  if (scope.subject === 'event') {
    return refuse(
      scope,
      'path',
      place,
      '`$now` cannot be read inside `where`: an event is judged once, when it arrives; use `within`',
    );
  }
  return { op: 'now', type: NOW_TYPE, place };
}

function checkFallback(fallback: Fact, type: ValueType, path: string, place: Place, scope: Scope): boolean {
  const fits =
    type.kind === 'any' ||
    (typeof fallback === 'string' &&
      (type.kind === 'text' || (type.kind === 'flag' && (fallback === 'TRUE' || fallback === 'FALSE')))) ||
    ((typeof fallback === 'number' || typeof fallback === 'bigint') && (isNumeric(type) || type.kind === 'time')) ||
    (typeof fallback === 'boolean' && type.kind === 'boolean') ||
    (Array.isArray(fallback) &&
      type.kind === 'list' &&
      fallback.every((item) => !isFacts(item) && !Array.isArray(item)));
  const fault = fits && type.kind === 'score' ? scoreFault(fallback) : undefined;
  if (fault !== undefined) {
    scope.problem('value', place, `the default of \`${path}\` is a trust score ${fault}`);
    return false;
  }
  if (!fits) scope.problem('type', place, `the default of \`${path}\` must be ${typeName(type)}, written out`);
  return fits;
}

/** A path is not a value, and is left unchanged; the default beside it is a value. */
function defaultEdits(written: Fact): Edit[] {
  if (!Array.isArray(written)) return [];
  const [path, fallback] = written;
  if (path === undefined || fallback === undefined) return [];
  return within(literalEdits(fallback), (edited) => [path, edited], 'default ');
}

export const VAR: Family = {
  var: {
    min: 0,
    max: 2,
    usage: 'write it as "path" or ["path", default]',
    check: checkVar,
    innerEdits: defaultEdits,
  },
};
