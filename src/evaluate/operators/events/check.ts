// evaluate: checks the filter of an event operator: which of the subject's own events it counts, and in which window.
// In: the filter as written. Out: what is counted, or problems, each at the key that is to blame.
import { parseDuration } from '../../../domain/duration.ts';
import type { Fact, Facts } from '../../../domain/facts.ts';
import { showLiteral } from '../../../domain/literal-text.ts';
import {
  EVENT_ACTION_NAMES,
  EVENT_SEVERITIES,
  EVENT_SUB_TYPES,
  EVENT_TYPES,
  type EventSeverity,
} from '../../../domain/platform-values.ts';
import { checkCondition } from '../../check/expression.ts';
import type { Scope } from '../../check/scope.ts';
import { durationFault } from '../../check/units.ts';
import type { EventCount, Expression } from '../../language/expression.ts';
import { didYouMean, nearestName } from '../../language/nearest-name.ts';
import type { Place } from '../../language/problem.ts';
import { fieldAt, type ValueType } from '../../record-types/field-types.ts';

const FILTER_KEYS = ['type', 'sub_type', 'action', 'severity', 'result', 'where', 'within'] as const;
const WINDOW_MAX_MS = 90 * 86_400_000;

/** What is counted; undefined when something of it was refused. */
export function checkFilter(
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
    where: filter.where === undefined ? undefined : checkWhere(filter.where, [...at, 'where'], scope),
    of: what === 'event_distinct' ? checkOf(filter.of, scope.eventRoot, fault) : undefined,
  };
  return fine && count.where?.type.kind !== 'refused' ? count : undefined;
}

type Fault = (code: 'format' | 'unit' | 'value' | 'path' | 'type', key: string, message: string) => void;

function checkWithin(raw: Fact | undefined, fault: Fault): number {
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
