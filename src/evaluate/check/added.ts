// evaluate: checks of the operators that this project adds: `age`, `matches`, versions, groups, and event windows.

import { RE2JS } from 're2js';
import semver from 'semver';
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import {
  EVENT_ACTION_NAMES,
  EVENT_SEVERITIES,
  EVENT_SUB_TYPES,
  EVENT_TYPES,
  type EventSeverity,
} from '../../domain/platform-values.ts';
import { type EventCount, type Expression, keyOf } from '../language/expression.ts';
import { didYouMean, nearestName } from '../language/nearest-name.ts';
import type { Place } from '../language/problem.ts';
import { nameOf, showLiteral } from '../language/wording.ts';
import {
  BOOLEAN,
  fieldAt,
  listOf,
  NUMBER,
  SECONDS,
  TEXT,
  typeName,
  type ValueType,
} from '../record-types/field-types.ts';
import { check, checkCondition, isTextual, settle } from './expression.ts';
import { factAt, resolvePath } from './facts.ts';
import { type Operands, refuse, refused, type Scope } from './scope.ts';
import { durationFault } from './units.ts';

export function checkAge({ args, place, placeOf }: Operands, scope: Scope): Expression {
  if (scope.subject === 'event') {
    return refuse(
      scope,
      'operator',
      place,
      '`age` cannot be asked inside `where`: an event is judged once, when it arrives; use `within`',
    );
  }
  const time = settle(check(args[0] ?? null, placeOf(0), scope), { kind: 'time', unit: 'any' });
  if (time.type.kind === 'refused') return refused(place);
  if (time.type.kind !== 'time') {
    const hint = time.type.kind === 'text' && time.op === 'literal' ? `; write {"age": {"var": "${time.value}"}}` : '';
    return refuse(
      scope,
      'type',
      time.place,
      `\`age\` takes a timestamp, but ${nameOf(time)} is ${typeName(time.type)}${hint}`,
    );
  }
  return { op: 'call', name: 'age', args: [time], type: SECONDS, place };
}

export function checkMatches({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const arg = checkText(args[0] ?? null, placeOf(0), 'matches', scope);
  const pattern = args[1];
  if (typeof pattern !== 'string')
    return refuse(scope, 'type', placeOf(1), 'expected a pattern, written out as a text');
  if (pattern.length > 1_000) return refuse(scope, 'value', placeOf(1), 'the pattern is longer than 1,000 characters');
  try {
    RE2JS.compile(pattern);
  } catch (error) {
    return refuse(
      scope,
      'value',
      placeOf(1),
      `not a pattern in RE2's syntax: ${String((error as Error).message).split('\n')[0]}`,
    );
  }
  return arg.type.kind === 'refused' ? refused(place) : { op: 'matches', arg, pattern, type: BOOLEAN, place };
}

export function checkTextTest({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
  if (parts.some((part) => part.type.kind === 'refused')) return refused(place);
  if (parts[1]?.op === 'literal' && parts[1].value === '')
    return refuse(scope, 'value', placeOf(1), 'every text begins and ends with the empty text');
  return { op: 'call', name: name as 'starts_with' | 'ends_with', args: parts, type: BOOLEAN, place };
}

function checkText(raw: Fact, place: Place, name: string, scope: Scope): Expression {
  const text = settle(check(raw, place, scope), TEXT);
  if (isTextual(text.type) || text.type.kind === 'refused') return text;
  return refuse(scope, 'type', place, `\`${name}\` takes texts, but ${nameOf(text)} is ${typeName(text.type)}`);
}

export function checkVersion({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
  if (parts.some((part) => part.type.kind === 'refused')) return refused(place);
  for (const part of parts) {
    if (part.op === 'literal' && !semver.coerce(String(part.value))) {
      return refuse(scope, 'value', part.place, `\`${showLiteral(part.value)}\` is no version; write it as "1.2.3"`);
    }
  }
  return { op: 'call', name: name as 'version_lt', args: parts, type: BOOLEAN, place };
}

export function checkInGroup({ args, place, placeOf }: Operands, scope: Scope): Expression {
  const name = args[args.length - 1];
  if (typeof name !== 'string' || name.trim() === '' || name.includes(',')) {
    return refuse(scope, 'type', placeOf(args.length - 1), 'expected the name of one group, written out as a text');
  }
  let groups: Expression;
  if (args.length === 2) groups = settle(check(args[0] as Fact, placeOf(0), scope), listOf(TEXT));
  else {
    const from = scope.item ?? scope.root;
    const field = fieldAt(from, ['Groups']);
    if (!field)
      return refuse(
        scope,
        'path',
        place,
        `there are no \`Groups\` here; write {"in_group": [list, "${name}"]}, for a device inside {"some": [{"var": "$owners"}, …]}`,
      );
    resolvePath('Groups', place, scope);
    groups = factAt('Groups', field, undefined, place, scope);
  }
  if (groups.type.kind === 'refused') return groups;
  const fits =
    groups.type.kind === 'text' ||
    (groups.type.kind === 'list' && isTextual(groups.type.of)) ||
    (groups.type.kind === 'list' && groups.type.of.kind === 'any');
  if (!fits)
    return refuse(
      scope,
      'type',
      groups.place,
      `\`in_group\` takes a list of groups, but ${nameOf(groups)} is ${typeName(groups.type)}`,
    );
  const literal: Expression = { op: 'literal', value: name.trim(), type: TEXT, place };
  return { op: 'call', name: 'in_group', args: [groups, literal], type: BOOLEAN, place };
}

const FILTER_KEYS = ['type', 'sub_type', 'action', 'severity', 'result', 'where', 'within'] as const;
const WINDOW_MAX_MS = 90 * 86_400_000;

export function checkEventCount({ name, args, place, placeOf }: Operands, scope: Scope): Expression {
  const filter = args[0] as Fact;
  const at = placeOf(0);
  if (scope.subject === 'event' || scope.item) {
    return refuse(
      scope,
      'operator',
      place,
      `\`${name}\` counts the subject's own events; it cannot stand inside another operator's element or event`,
    );
  }
  if (!isFacts(filter))
    return refuse(scope, 'type', at, `\`${name}\` takes a filter; write {"severity": "ERROR", "within": "10m"}`);
  const known: string[] = name === 'event_distinct' ? [...FILTER_KEYS, 'of'] : [...FILTER_KEYS];
  let fine = true;
  const fault = (code: 'format' | 'unit' | 'value' | 'path' | 'type', key: string, message: string): void => {
    fine = false;
    scope.problem(code, [...at, key], message);
  };
  for (const key of Object.keys(filter)) {
    if (!known.includes(key)) fault('format', key, `\`${name}\` has no \`${key}\`${didYouMean(key, known)}`);
  }
  const within = filter.within;
  const withinMs = typeof within === 'string' ? parseDuration(within) : undefined;
  if (withinMs === undefined || withinMs <= 0) fault('unit', 'within', `\`within\`: ${durationFault(within)}`);
  else if (withinMs > WINDOW_MAX_MS) fault('unit', 'within', '`within` is at most "90d"');
  const texts = (key: string, values: readonly string[]): readonly string[] | undefined =>
    checkTexts(filter[key], key, values, fault);
  const count: EventCount = {
    what: name as EventCount['what'],
    subject: scope.subject,
    types: texts('type', EVENT_TYPES),
    subTypes: texts('sub_type', EVENT_SUB_TYPES),
    actions: texts('action', EVENT_ACTION_NAMES),
    results: texts('result', []),
    severityMin: checkSeverity(filter.severity, fault),
    where: filter.where === undefined ? undefined : checkWhere(filter.where, [...at, 'where'], scope),
    of: name === 'event_distinct' ? checkOf(filter.of, scope.eventRoot, fault) : undefined,
    withinMs: withinMs ?? 0,
  };
  if (!fine || count.where?.type.kind === 'refused') return refused(place);
  scope.reads.events = true;
  scope.reads.windowMs = Math.max(scope.reads.windowMs, count.withinMs);
  const type = count.what === 'since_last_event' ? SECONDS : NUMBER;
  return {
    op: 'fact',
    fact: { kind: 'events', key: countKey(count), label: countLabel(count), type, count },
    type,
    place,
  };
}

type Fault = (code: 'format' | 'unit' | 'value' | 'path' | 'type', key: string, message: string) => void;

function checkTexts(
  raw: Fact | undefined,
  key: string,
  values: readonly string[],
  fault: Fault,
): readonly string[] | undefined {
  if (raw === undefined) return undefined;
  const list = Array.isArray(raw) ? raw : [raw];
  if (list.length === 0 || !list.every((item): item is string => typeof item === 'string')) {
    fault('type', key, `\`${key}\` takes a text or a list of texts`);
    return undefined;
  }
  for (const item of list) {
    if (values.length === 0 || values.includes(item)) continue;
    const meant = values.find((value) => value.toLowerCase() === item.toLowerCase()) ?? nearestName(item, values);
    if (meant) fault('value', key, `no event is known to have the \`${key}\` \`${item}\`; did you mean "${meant}"?`);
  }
  return list;
}

function checkSeverity(raw: Fact | undefined, fault: Fault): EventSeverity | undefined {
  if (raw === undefined || EVENT_SEVERITIES.includes(raw as EventSeverity)) return raw as EventSeverity | undefined;
  const hint = typeof raw === 'string' ? didYouMean(raw, EVENT_SEVERITIES) : '';
  fault(
    'value',
    'severity',
    `expected a least severity, one of ${EVENT_SEVERITIES.join(', ')}, found \`${showLiteral(raw)}\`${hint}`,
  );
  return undefined;
}

function checkOf(raw: Fact | undefined, root: ValueType, fault: Fault): string[] | undefined {
  const field = typeof raw === 'string' ? fieldAt(root, raw.split('.')) : undefined;
  if (field && !['record', 'list'].includes(field.type.kind)) return (raw as string).split('.');
  fault(
    'path',
    'of',
    `\`of\` takes the path of a value in the event, such as "user_principal.client.ip_address"${typeof raw === 'string' ? `, not \`${raw}\`` : ''}`,
  );
  return undefined;
}

function checkWhere(raw: Fact, place: Place, scope: Scope): Expression {
  return checkCondition(raw, place, {
    ...scope,
    subject: 'event',
    root: scope.eventRoot,
    item: undefined,
    itemSource: undefined,
    fresh: [],
  });
}

function countKey(count: EventCount): string {
  return JSON.stringify({ ...count, where: count.where && keyOf(count.where) });
}

/** How the count is called in reports: `event_count(severity>=ERROR within 10m)`. */
function countLabel(count: EventCount): string {
  const parts: string[] = [];
  if (count.of) parts.push(`of ${count.of.join('.')}`);
  for (const [key, values] of [
    ['type', count.types],
    ['sub_type', count.subTypes],
    ['action', count.actions],
    ['result', count.results],
  ] as const) {
    if (values) parts.push(`${key}=${values.join('|')}`);
  }
  if (count.severityMin) parts.push(`severity>=${count.severityMin}`);
  if (count.where) parts.push(`where ${shortKey(count.where)}`);
  parts.push(`within ${formatDuration(count.withinMs)}`);
  return `${count.what}(${parts.join(' ')})`;
}

/** Tells windows with different conditions apart in reports. */
function shortKey(where: Expression): string {
  const text = keyOf(where);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
