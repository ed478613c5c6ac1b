// evaluate: `event_count`, `event_distinct` and `since_last_event` over the subject's own events in a sliding window.
// In: a filter. Out: a fact, read when it is first asked for: with a gap in the event log it is a number between two bounds.
import { formatDuration } from '../../../domain/duration.ts';
import { type Fact, isFacts } from '../../../domain/facts.ts';
import { type Form, type Operands, refuse, refused, type Scope } from '../../check/scope.ts';
import type { EventCount, Expression } from '../../language/expression.ts';
import { keyOf } from '../../language/walk.ts';
import { NUMBER, SECONDS } from '../../record-types/field-types.ts';
import type { Family } from '../family.ts';
import { checkFilter } from './check.ts';
import { filterEdits } from './edits.ts';

function checkCount(what: EventCount['what'], { args, place, placeOf }: Operands, scope: Scope): Expression {
  const filter = args[0] as Fact;
  if (scope.subject === 'event' || scope.item) {
    const message = `\`${what}\` counts the subject's own events; it cannot stand inside another operator's element or event`;
    return refuse(scope, 'operator', place, message);
  }
  if (!isFacts(filter)) {
    const message = `\`${what}\` takes a filter; write {"severity": "ERROR", "within": "10m"}`;
    return refuse(scope, 'type', placeOf(0), message);
  }
  const count = checkFilter(what, scope.subject, filter, placeOf(0), scope);
  if (!count) return refused(place);
  scope.reads.events = true;
  scope.reads.windowMs = Math.max(scope.reads.windowMs, count.withinMs);
  const type = what === 'since_last_event' ? SECONDS : NUMBER;
  return {
    op: 'fact',
    fact: { kind: 'events', key: countKey(count), label: countLabel(count), type, count },
    type,
    place,
  };
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
function shortKey(where: Expression): string {
  const text = keyOf(where);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function counting(what: EventCount['what'], usage: string): Form {
  return {
    min: 1,
    max: 1,
    usage,
    check: (operands, scope) => checkCount(what, operands, scope),
    innerEdits(written, editsOf) {
      if (isFacts(written)) return filterEdits(written, editsOf);
      const [filter] = Array.isArray(written) ? written : [];
      return isFacts(filter) ? filterEdits(filter, editsOf) : [];
    },
  };
}

const USAGE = 'write it as {"severity": "ERROR", "within": "10m"}';

export const EVENTS: Family = {
  event_count: counting('event_count', USAGE),
  event_distinct: counting('event_distinct', 'write it as {"of": "path in the event", "within": "10m"}'),
  since_last_event: counting('since_last_event', USAGE),
};
