// evaluate: checks paths: each must exist in the record's schema, or in the element's inside a loop.
// In: a path as written. Out: its field, or the fact that it names; what is read is noted in the scope.
import type { Fact } from '../../domain/facts.ts';
import type { Expression } from '../language/expression.ts';
import { nearestName } from '../language/nearest-name.ts';
import type { Place } from '../language/problem.ts';
import { literalKey } from '../language/walk.ts';
import { type Field, fieldAt, pathsOf, type ValueType } from '../record-types/field-types.ts';
import { VIRTUAL_NAMES, virtualType } from '../record-types/index.ts';
import type { Scope } from './scope.ts';

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
    // Only the unpaged lists have the keys that join them: Emails of a device, SerialNumbers of a user.
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
      ? '; inside `some`, `all`, `none`, `count`, `filter`, `map` and `reduce` only the element can be read'
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
  const known = VIRTUAL_NAMES[scope.subject];
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
