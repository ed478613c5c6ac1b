// rules: `previous`, `changed_within` and `unchanged_for`: what runs saw of a field of the subject before. In: the path of a field, written out,
// and how far back. Out: a fact, read when it is first asked for: unknown where a gap in the history may hide another answer.
import { didYouMean } from '../../base/nearest-name.ts';
import { formatDuration, parseDuration } from '../../base/time.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import { isSecretName } from '../../domain/secrets.ts';
import {
  call,
  check,
  durationFault,
  type Family,
  type Form,
  factAt,
  isNumeric,
  isTextual,
  MANY,
  type Operands,
  pathInParts,
  refuse,
  refused,
  resolvePath,
  type Scope,
  scoreFault,
  settle,
} from '../check/scope.ts';
import {
  type Expression,
  type ExpressionOf,
  FALSE,
  type LookedBack,
  type Operator,
  type PathFact,
  TRUE,
  Unknown,
} from '../language/expression.ts';
import { type Edit, literalEdits, nameOf, within } from '../language/loaded-rule.ts';
import type { Place } from '../language/problem.ts';
import {
  BOOLEAN,
  fieldAt,
  listOf,
  NOW_TYPE,
  NUMBER,
  TEXT,
  typeName,
  type ValueType,
} from '../record-types/field-types.ts';
import { compileInFact } from './lists.ts';
import { infix } from './numbers.ts';

type What = 'previous' | 'changed_within' | 'unchanged_for';

const ASKS: Record<What, LookedBack['asks']> = {
  previous: 'before',
  changed_within: 'changed',
  unchanged_for: 'stayed',
};

const WITHIN_MAX = '365d';
const WITHIN_MAX_MS = 365 * 86_400_000;

function checkLookBack(what: What, { args, place, placeOf }: Operands, scope: Scope): Expression {
  if (scope.subject === 'event' || scope.item) {
    const message = `\`${what}\` looks back on a field of the subject; it cannot stand inside another operator's element or event`;
    return refuse(scope, 'operator', place, message);
  }
  const present = checkPath(what, args[0] as Fact, placeOf(0), scope);
  const withinMs = what === 'previous' ? Number.POSITIVE_INFINITY : checkWithin(what, args[1], placeOf(1), scope);
  if (!present || withinMs === undefined) return refused(place);
  const type = what === 'previous' ? present.type : BOOLEAN;
  const past: LookedBack = { asks: ASKS[what], present, withinMs };
  const label = `${what}(${present.label}${what === 'previous' ? '' : `, ${formatDuration(withinMs)}`})`;
  const key = `${what} ${withinMs} ${present.key}`;
  scope.reads.lookBackMs = Math.max(scope.reads.lookBackMs, withinMs);
  scope.reads.lookBack.add(present.label);
  return { op: 'fact', fact: { kind: 'look_back', key, label, type, past }, type, place };
}

function checkPath(what: What, raw: Fact, place: Place, scope: Scope): PathFact | undefined {
  const fault = (message: string) => {
    scope.problem('path', place, message);
    return undefined;
  };
  if (typeof raw !== 'string') {
    const read = isFacts(raw) ? raw.var : undefined;
    const path = typeof read === 'string' ? read : 'SerialNumber';
    return fault(`\`${what}\` takes the path of a field, written out; ${usageOf(what, path)}`);
  }
  const segments = raw.split('.');
  if (raw.startsWith('$')) {
    const instead = raw.startsWith('$spec') && scope.subject === 'service' ? '; `ServiceSpec` is one' : '';
    return fault(`\`${what}\` looks back on a field of the record, and \`${raw}\` is none${instead}`);
  }
  const field = resolvePath(raw, place, scope);
  if (!field) return undefined;
  if (field.type.kind === 'record') return fault(`\`${raw}\` is a record; \`${what}\` takes one field of it`);
  const list = segments.findIndex((_, end) => fieldAt(scope.root, segments.slice(0, end))?.type.kind === 'list');
  if (list > 0)
    return fault(`a list is one value in the history: \`${what}\` takes \`${segments.slice(0, list).join('.')}\``);
  if (segments.some(isSecretName)) return fault(`\`${raw}\` may be a secret, and the history keeps none`);
  const read = factAt(raw, field, undefined, place, scope);
  return read.op === 'fact' && read.fact.kind === 'path' ? read.fact : undefined;
}

function checkWithin(what: What, raw: Fact | undefined, place: Place, scope: Scope): number | undefined {
  const ms = typeof raw === 'string' ? parseDuration(raw) : undefined;
  if (ms === undefined || ms <= 0) scope.problem('unit', place, `\`${what}\`: ${durationFault(raw)}`);
  else if (ms > WITHIN_MAX_MS) scope.problem('unit', place, `\`${what}\` looks back at most "${WITHIN_MAX}"`);
  else return ms;
  return undefined;
}

function usageOf(what: What, path: string): string {
  return `write {"${what}": ${what === 'previous' ? `"${path}"` : `["${path}", "1d"]`}}`;
}

/** A path is left unchanged; the time that is looked back is not. */
const innerEdits: Form['innerEdits'] = (written) => {
  const [path, duration] = Array.isArray(written) ? written : [];
  if (path === undefined || duration === undefined) return [];
  return within(literalEdits(duration), (edited) => [path, edited]);
};

function lookingBack(what: What, swap: string): Form {
  const operands = what === 'previous' ? 1 : 2;
  return {
    min: operands,
    max: operands,
    usage: usageOf(what, 'SerialNumber'),
    check: (written, scope) => checkLookBack(what, written, scope),
    swaps: [swap],
    innerEdits,
  };
}

export const LOOK_BACK: Family = {
  previous: lookingBack('previous', 'var'),
  changed_within: lookingBack('changed_within', 'unchanged_for'),
  unchanged_for: lookingBack('unchanged_for', 'changed_within'),
};

// `var`: a field of the record or of the element, `$now`, or a part of what is joined.

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
  if (path === LISTS || path.startsWith(`${LISTS}.`)) return checkNamedList(path, args[1], place.slice(0, -1), scope);
  const field = resolvePath(path, pathPlace, scope);
  if (!field) return refused(pathPlace);
  const fallback = args[1];
  if (fallback !== undefined && !checkFallback(fallback, field.type, path, placeOf(1), scope)) return refused(place);
  return factAt(path, field, fallback, pathPlace, scope);
}

const LISTS = '$lists';

/** A list that rules share stands for its entries, as if they were written at this place, that of the whole operation. */
function checkNamedList(path: string, fallback: Fact | undefined, place: Place, scope: Scope): Expression {
  const name = path.slice(LISTS.length + 1);
  const list = scope.lists.get(name);
  if (!list) {
    const known = [...scope.lists.keys()];
    const file = `\`lists/${name || 'NAME'}.yaml\` in the folder of the rules`;
    const near = didYouMean(name, known) || `; it would be the file ${file}`;
    const message = name === '' ? `a list has a name: write \`${LISTS}.NAME\`, for ${file}` : undefined;
    return refuse(scope, 'path', place, message ?? `there is no list \`${name}\`${near}`);
  }
  if (list.entries.length === 0)
    return refuse(scope, 'value', place, `the list \`${name}\` is refused: see what is wrong with \`${list.file}\``);
  if (fallback !== undefined) return refuse(scope, 'path', place, `\`${path}\` is always there, and takes no default`);
  scope.reads.lists.add(name);
  const type = typeof list.entries[0] === 'string' ? TEXT : NUMBER;
  const items = list.entries.map((value): Expression => ({ op: 'literal', value, type, place }));
  return { op: 'list', items, name, type: listOf(type), place };
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

function checkVal(operands: Operands, scope: Scope): Expression {
  const path = pathInParts(operands, scope);
  return path === undefined ? refused(operands.place) : checkVar({ ...operands, args: [path] }, scope);
}

export const VAR: Family = {
  var: {
    min: 0,
    max: 2,
    usage: 'write it as "path" or ["path", default]',
    check: checkVar,
    innerEdits: defaultEdits,
  },
  val: {
    min: 0,
    max: MANY,
    usage: 'write it as "field" or ["field", "part"]',
    check: checkVal,
    innerEdits: () => [],
    asIfOld: (written) => ({ var: [written].flat().join('.') }),
  },
};

// `in_group`: is a name among the groups, which come as one comma-separated text or as a list of names.

const IN_GROUP: Operator = {
  name: 'in_group',
  isForeign: true,
  isTotal: true,
  takesSteps: true,
  text: infix('in_group'),
  condition(args, compiling) {
    const [groups, name] = args as [Expression, ExpressionOf<'literal'>];
    if (groups.type.kind === 'list') return compileInFact(() => name.value, name, groups, compiling);
    const value = compiling.value(groups);
    return (frame) => {
      const text = value(frame);
      if (text instanceof Unknown) return text.truth;
      return (text as string).split(',').some((group) => group.trim() === name.value) ? TRUE : FALSE;
    };
  },
};

function checkInGroup({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const name = args[args.length - 1];
  if (typeof name !== 'string' || name.trim() === '' || name.includes(',')) {
    const message = 'expected the name of one group, written out as a text';
    return refuse(scope, 'type', placeOf(args.length - 1), message);
  }
  const groups =
    args.length === 2 ? settle(check(args[0] as Fact, placeOf(0), scope), listOf(TEXT)) : ownGroups(name, place, scope);
  if (groups.type.kind === 'refused') return groups;
  if (!holdsGroups(groups.type)) {
    const message = `\`in_group\` takes a list of groups, but ${nameOf(groups)} is ${typeName(groups.type)}`;
    return refuse(scope, 'type', groups.place, message);
  }
  return call(IN_GROUP, [groups, { op: 'literal', value: name.trim(), type: TEXT, place }], BOOLEAN, place);
}

function ownGroups(name: string, place: Operands['place'], scope: Scope): Expression {
  const field = fieldAt(scope.item ?? scope.root, ['Groups']);
  if (!field) {
    const message = `there are no \`Groups\` here; write {"in_group": [list, "${name}"]}, for a device inside {"some": [{"var": "$owners"}, …]}`;
    return refuse(scope, 'path', place, message);
  }
  resolvePath('Groups', place, scope);
  return factAt('Groups', field, undefined, place, scope);
}

function holdsGroups(type: ValueType): boolean {
  if (type.kind === 'list') return isTextual(type.of) || type.of.kind === 'any';
  return type.kind === 'text';
}

export const GROUPS: Family = {
  in_group: { min: 1, max: 2, usage: 'write it as "name" or [list, name]', check: checkInGroup },
};
