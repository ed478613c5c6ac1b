// rules: `event_count`, `event_distinct` and `since_last_event` over the subject's own events in a sliding window.
// In: a filter. Out: a fact, read when it is first asked for: with a gap in the event log it is a number between two bounds.
import { didYouMean, nearestName } from '../../base/nearest-name.ts';
import { formatDuration, parseDuration } from '../../base/time.ts';
import { type Fact, type Facts, isFacts, showLiteral } from '../../domain/facts.ts';
import {
  EVENT_ACTION_NAMES,
  EVENT_SEVERITIES,
  EVENT_SUB_TYPES,
  EVENT_TYPES,
  type EventSeverity,
} from '../../domain/platform-values.ts';
import { EVENT_KEYS } from '../../domain/subjects.ts';
import {
  checkCondition,
  durationFault,
  type Family,
  type Form,
  type Operands,
  refuse,
  refused,
  type Scope,
} from '../check/scope.ts';
import { type CountFact, type EventCount, type Expression, keyOf } from '../language/expression.ts';
import { type Edit, type EditsOf, literalEdits, showEdited, within } from '../language/loaded-rule.ts';
import type { Place } from '../language/problem.ts';
import { fieldAt, NUMBER, SECONDS, type ValueType } from '../record-types/field-types.ts';

// Checks the filter of an event operator: which of the subject's own events it counts, and in which window.

const FILTER_KEYS = ['type', 'sub_type', 'action', 'severity', 'result', 'where', 'within'] as const;
const WINDOW_MAX_MS = 90 * 86_400_000;

/** What is counted; undefined when something of it was refused. */
function checkFilter(
  what: EventCount['what'],
  subject: EventCount['subject'],
  filter: Facts,
  at: Place,
  scope: Scope,
): EventCount | undefined {
  const known: string[] = what === 'event_distinct' ? [...FILTER_KEYS, 'of'] : [...FILTER_KEYS];
  let fine = true;
  const fault: Fault = (code, key, message) => {
    fine = false;
    scope.problem(code, [...at, key], message);
  };
  for (const key of Object.keys(filter)) {
    if (!known.includes(key)) fault('format', key, `\`${what}\` has no \`${key}\`${didYouMean(key, known)}`);
  }
  const texts = (key: string, values: readonly string[]): readonly string[] | undefined =>
    checkTexts(filter[key], key, values, fault);
  const count: EventCount = {
    what,
    subject,
    withinMs: checkWithin(filter.within, fault),
    types: texts('type', EVENT_TYPES),
    subTypes: texts('sub_type', EVENT_SUB_TYPES),
    actions: texts('action', EVENT_ACTION_NAMES),
    results: texts('result', []),
    severityMin: checkSeverity(filter.severity, fault),
    where: filter.where === undefined ? undefined : checkWhere(filter.where, [...at, 'where'], scope.eventRoot, scope),
    of: what === 'event_distinct' ? checkOf(filter.of, scope.eventRoot, fault) : undefined,
  };
  return fine && count.where?.type.kind !== 'refused' ? count : undefined;
}

export type Fault = (code: 'format' | 'unit' | 'value' | 'path' | 'type', key: string, message: string) => void;

export function checkWithin(raw: Fact | undefined, fault: Fault): number {
  const ms = typeof raw === 'string' ? parseDuration(raw) : undefined;
  if (ms === undefined || ms <= 0) fault('unit', 'within', `\`within\`: ${durationFault(raw)}`);
  else if (ms > WINDOW_MAX_MS) fault('unit', 'within', '`within` is at most "90d"');
  return ms ?? 0;
}

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

/** `root`: what an event has. */
export function checkWhere(raw: Fact, place: Place, root: ValueType, scope: Scope): Expression {
  return checkCondition(raw, place, {
    ...scope,
    subject: 'event',
    root,
    item: undefined,
    itemSource: undefined,
    fresh: [],
  });
}

// Mutants of an event operator's filter: each key left out, another window, another severity, another condition.

function filterEdits(filter: Facts, editsOf: EditsOf): Edit[] {
  return Object.entries(filter).flatMap(([key, value]) => keyEdits(filter, key, value, editsOf));
}

function keyEdits(filter: Facts, key: string, value: Fact, editsOf: EditsOf): Edit[] {
  const withValue = (other: Fact): Fact => ({ ...filter, [key]: other });
  const { [key]: _, ...others } = filter;
  const leftOut: Edit = { description: `${key} left out`, value: others };
  switch (key) {
    case 'within':
      return typeof value === 'string' ? within(literalEdits(value), withValue, 'within ') : [leftOut];
    case 'severity':
      return severitiesBeside(value).map((other) => ({
        description: `severity ${showEdited(value)} → ${other}`,
        value: withValue(other),
      }));
    case 'where':
      return [leftOut, ...within(editsOf(value, 'values'), withValue, 'where ')];
    case 'of':
    case 'transmitter':
      return [];
    case 'event':
      return Array.isArray(value) && value.length > 1 ? eventsBut(value, withValue) : [];
    default:
      return [leftOut];
  }
}

/** Each of several events left out: without any it would not be a filter. */
function eventsBut(events: readonly Fact[], withValue: (other: Fact) => Fact): Edit[] {
  return events.map((event, at) => ({
    description: `event ${showEdited(event)} left out`,
    value: withValue(events.toSpliced(at, 1)),
  }));
}

/** DEBUG is the same as none. */
function severitiesBeside(value: Fact): string[] {
  const rank = (EVENT_SEVERITIES as readonly Fact[]).indexOf(value);
  return [EVENT_SEVERITIES[rank - 1], EVENT_SEVERITIES[rank + 1]].filter((each) => each !== undefined);
}

/** What the elements of joined records are: their kind, and in texts, after what is counted. */
const WHOSE = {
  users: { kind: 'user', words: ' of an owner' },
  devices: { kind: 'device', words: ' of a device' },
} as const;

/** Undefined: refused, since it stands where nobody's events are meant. */
export function whoseOf(what: EventCount['what'], place: Place, { subject, item, itemSource, problem }: Scope) {
  if (subject !== 'event' && !(item && !itemSource))
    return (itemSource && WHOSE[itemSource]) ?? { kind: subject, words: '' };
  const message = `\`${what}\` counts the events of the subject, or of an element of \`$owners\` or \`$devices\`; it cannot stand inside another element or event`;
  problem('operator', place, message);
  return undefined;
}

function checkCount(what: EventCount['what'], { args, place, placeOf }: Operands, scope: Scope): Expression {
  const filter = args[0] as Fact;
  const whose = whoseOf(what, place, scope);
  if (!whose) return refused(place);
  if (!isFacts(filter)) {
    const message = `\`${what}\` takes a filter; write {"severity": "ERROR", "within": "10m"}`;
    return refuse(scope, 'type', placeOf(0), message);
  }
  const count = checkFilter(what, whose.kind, filter, placeOf(0), scope);
  if (!count) return refused(place);
  scope.reads.events = true;
  scope.reads.windowMs = Math.max(scope.reads.windowMs, count.withinMs);
  const type = what === 'since_last_event' ? SECONDS : NUMBER;
  return countedFact(count, countLabel(count), type, whose, place, scope);
}

/** Of the subject, or of the element that a loop is at. */
export function countedFact(
  count: EventCount,
  name: string,
  type: ValueType,
  whose: { words: string },
  place: Place,
  { reads, item, itemSource }: Scope,
): Expression {
  const label = `${name}${whose.words}`;
  const fact: CountFact = { kind: 'events', key: countKey(count), label, type, count };
  if (!item || !itemSource) return { op: 'fact', fact, type, place };
  // The names that the events of an element are found by.
  for (const key of EVENT_KEYS[count.subject]) reads[itemSource].add(key);
  // `reduce` has its element behind `current`.
  const path = fieldAt(item, ['current']) ? ['current'] : [];
  return { op: 'item', path, label, fallback: undefined, counts: fact, type, place };
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

/** Keeps windows with different conditions apart in reports. */
export function shortKey(where: Expression): string {
  const text = keyOf(where);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

export function counting(check: Form['check'], usage: string): Form {
  return {
    min: 1,
    max: 1,
    usage,
    check,
    innerEdits(written, editsOf) {
      if (isFacts(written)) return filterEdits(written, editsOf);
      const [filter] = Array.isArray(written) ? written : [];
      return isFacts(filter) ? filterEdits(filter, editsOf) : [];
    },
  };
}

const of =
  (what: EventCount['what']): Form['check'] =>
  (operands, scope) =>
    checkCount(what, operands, scope);

const USAGE = 'write it as {"severity": "ERROR", "within": "10m"}';

export const EVENTS: Family = {
  event_count: counting(of('event_count'), USAGE),
  event_distinct: counting(of('event_distinct'), 'write it as {"of": "path in the event", "within": "10m"}'),
  since_last_event: counting(of('since_last_event'), USAGE),
};
