// evaluate: checks of `var`, `missing` and `missing_some`: every path must exist in the record's schema.
// In: paths as written. Out: facts with their types; what they read is noted in the scope.

import { type Fact, isFacts } from '../../domain/facts.ts';
import { type Expression, literalKey } from '../language/expression.ts';
import { nearestName } from '../language/nearest-name.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { type Field, fieldAt, listOf, pathsOf, TEXT, typeName, type ValueType } from '../record-types/field-types.ts';
import { virtualType } from '../record-types/index.ts';
import { checkCondition, isNumeric } from './expression.ts';
import { type Operands, refuse, refused, type Scope } from './scope.ts';

export function checkVar({ args, placeOf, place }: Operands, scope: Scope): Expression {
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

/** The fact or element part at a path that exists. */
export function factAt(path: string, field: Field, fallback: Fact | undefined, place: Place, scope: Scope): Expression {
  const segments = path === '' ? [] : path.split('.');
  if (scope.item) return { op: 'item', path: segments, label: path, fallback, type: field.type, place };
  const fresh = path.startsWith('$')
    ? []
    : scope.fresh.filter(({ parent }) => parent.every((part, i) => segments[i] === part));
  for (const each of fresh) each.used = true;
  const freshness = fresh.map((each) => each.freshness);
  const key = `${path}${fallback === undefined ? '' : ` ?? ${literalKey(fallback)}`}${freshness.map((each) => ` fresh ${each.label}:${each.ms}`).join('')}`;
  return {
    op: 'fact',
    fact: { kind: 'path', key, label: path, path: segments, type: field.type, fallback, fresh: freshness },
    type: field.type,
    place,
  };
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
  return { op: 'now', type: { kind: 'time', unit: 'ms' }, place };
}

/** Finds a path where it is written and notes the read; reports an unknown one. */
export function resolvePath(path: string, place: Place, scope: Scope): Field | undefined {
  if (path === '') {
    if (scope.item) return { type: scope.item };
    scope.problem('path', place, 'expected a field of the record; the whole record is no fact');
    return undefined;
  }
  const segments = path.split('.');
  if (scope.item) return resolveItemPath(path, segments, place, scope);
  const first = segments[0] as string;
  const virtual = first.startsWith('$') ? virtualType(scope.subject, first) : undefined;
  if (first.startsWith('$') && !virtual) return refuseVirtual(first, place, scope);
  const field = virtual ? fieldAt(virtual, segments.slice(1)) : fieldAt(scope.root, segments);
  if (!field) return refusePath(path, place, scope, virtual ?? scope.root, virtual ? `${first}.` : '');
  noteRead(segments, field, place, scope);
  return field;
}

function noteRead(segments: string[], field: Field, place: Place, scope: Scope): void {
  const { reads } = scope;
  const first = segments[0];
  const path = segments.join('.');
  const isOwn = first !== '$owners' && first !== '$devices' && scope.subject !== 'event';
  if (isOwn && !reads.places.has(path)) reads.places.set(path, place);
  if (first === '$owners' || first === '$devices') {
    const source = first === '$owners' ? 'users' : 'devices';
    if (source === 'users') reads.owners = true;
    else reads.joinedDevices = true;
    // The keys that join them are given in the unpaged lists only: Emails of a device, SerialNumbers of a user.
    reads.unpaged.add(source === 'users' ? 'devices' : 'users');
    if (segments.length > 2) noteJoined(source, segments.slice(2), field, scope);
  } else if (first !== '$spec' && scope.subject !== 'event') {
    reads.record.add(path);
    if (field.unpagedOnly) reads.unpaged.add(scope.subject === 'user' ? 'users' : 'devices');
  }
}

function noteJoined(source: 'users' | 'devices', segments: string[], field: Field, scope: Scope): void {
  scope.reads[source].add(segments.join('.'));
  if (field.unpagedOnly) scope.reads.unpaged.add(source);
}

function resolveItemPath(path: string, segments: string[], place: Place, scope: Scope): Field | undefined {
  const item = scope.item as ValueType;
  const field = fieldAt(item, segments);
  if (!field) {
    const outer = fieldAt(scope.root, segments)
      ? '; inside `some`, `all`, `none`, `filter`, `map` and `reduce` only the element can be read'
      : '';
    return refusePath(path, place, scope, item, '', outer);
  }
  if (scope.itemSource) {
    const own = segments[0] === 'current' || segments[0] === 'accumulator' ? segments.slice(1) : segments;
    if (own.length > 0) noteJoined(scope.itemSource, own, field, scope);
  }
  return field;
}

function refuseVirtual(name: string, place: Place, scope: Scope): undefined {
  const known = { device: ['$now', '$owners'], user: ['$now', '$devices'], service: ['$now', '$spec'], event: [] }[
    scope.subject
  ];
  const listed =
    known.length > 0
      ? `a ${scope.subject} rule can read ${known.map((each) => `\`${each}\``).join(' and ')}`
      : 'an event has none';
  scope.problem('path', place, `there is no \`${name}\` here; ${listed}`);
  return undefined;
}

function refusePath(path: string, place: Place, scope: Scope, type: ValueType, prefix: string, hint = ''): undefined {
  const where = scope.item ? 'an element here' : `a ${scope.subject}`;
  const nearest = nearestPath(path, pathsOf(type, prefix));
  const advice =
    hint ||
    (nearest ? `; did you mean \`${nearest}\`?` : '; if the server sends it, name it and its type in `declares`');
  scope.problem('path', place, `${where} has no field \`${path}\`${advice}`);
  return undefined;
}

/** The nearest whole path; else the one whose last part is nearest to the written last part. */
function nearestPath(path: string, paths: string[]): string | undefined {
  const whole = nearestName(path, paths);
  if (whole) return whole;
  const lastOf = (each: string): string => each.slice(each.lastIndexOf('.') + 1);
  const last = nearestName(lastOf(path), paths.map(lastOf));
  return last === undefined || last.length < 4 ? undefined : paths.find((each) => lastOf(each) === last);
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
  if (fits && type.kind === 'score' && (Number(fallback) < 0 || Number(fallback) > 100)) {
    scope.problem('value', place, `\`${path}\` is a trust score: its default lies between 0 and 100`);
    return false;
  }
  if (!fits) scope.problem('type', place, `the default of \`${path}\` must be ${typeName(type)}, written out`);
  return fits;
}

export function checkMissing(operands: Operands, scope: Scope): Expression {
  const parts = operands.args.map((arg, index) => checkPaths(arg, operands.placeOf(index), scope));
  const paths: Expression = { op: 'list', items: parts, type: listOf(TEXT), place: operands.place };
  // json-logic-js looks at the first operand alone when that one is a list.
  const only = parts[0];
  const used = only && only.type.kind === 'list' ? only : paths;
  return {
    op: 'missing',
    need: undefined,
    paths: used,
    inItem: scope.item !== undefined,
    type: listOf(TEXT),
    place: operands.place,
  };
}

export function checkMissingSome({ args, placeOf, place }: Operands, scope: Scope): Expression {
  const need = args[0];
  if (typeof need !== 'number' || !Number.isInteger(need) || need < 1) {
    return refuse(
      scope,
      'type',
      placeOf(0),
      '`missing_some` begins with how many of the fields are needed, a whole number from 1',
    );
  }
  const paths = checkPaths(args[1] as Fact, placeOf(1), scope);
  if (paths.type.kind !== 'list')
    return refuse(scope, 'type', placeOf(1), 'expected a list of paths; write [1, ["path", …]]');
  return { op: 'missing', need, paths, inItem: scope.item !== undefined, type: listOf(TEXT), place };
}

/** Paths written out, or chosen among such by `if` and `merge`. */
function checkPaths(raw: Fact, place: Place, scope: Scope): Expression {
  if (typeof raw === 'string') {
    const field = resolvePath(raw, place, scope);
    return field ? { op: 'literal', value: raw, type: TEXT, place } : refused(place);
  }
  if (Array.isArray(raw)) {
    const items = raw.map((item, index) => checkPaths(item, [...place, index], scope));
    const bad = items.find((item) => item.type.kind === 'list');
    if (bad) return refuse(scope, 'type', bad.place, 'expected a path, found a list in a list');
    return { op: 'list', items, type: listOf(TEXT), place };
  }
  const name = isFacts(raw) ? Object.keys(raw)[0] : undefined;
  if (isFacts(raw) && Object.keys(raw).length === 1 && (name === 'merge' || name === 'if' || name === '?:')) {
    const written = raw[name] as Fact;
    const args = Array.isArray(written) ? written : [written];
    const parts = args.map((arg, index) =>
      name !== 'merge' && index % 2 === 0 && index < args.length - 1
        ? checkCondition(arg, [...place, name, index], scope)
        : checkPaths(arg, [...place, name, index], scope),
    );
    if (name !== 'merge' && args.length % 2 === 0) return refuse(scope, 'operator', place, '`if` needs an else here');
    return { op: 'call', name: name === 'merge' ? 'merge' : 'if', args: parts, type: listOf(TEXT), place };
  }
  const found = isFacts(raw) ? 'something computed' : nameOf({ op: 'literal', value: raw, type: TEXT, place });
  return refuse(scope, 'path', place, `expected a path written out, found ${found}`);
}
