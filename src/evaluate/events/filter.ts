// evaluate: one event operator's filter: which events it counts. In: an event. Out: no, surely or perhaps, and the value
// that event_distinct counts. Perhaps: `where` or the value is unknown for this event.

import type { TrustEvent } from '../../domain/event.ts';
import { isBeyondTypes } from '../../domain/facts.ts';
import { EVENT_SEVERITIES } from '../../domain/platform-values.ts';
import { newCompiler } from '../compile/expressions.ts';
import { newFrame } from '../compile/new-frame.ts';
import { FactReader } from '../facts/fact-reader.ts';
import type { EventCount, Expression } from '../language/expression.ts';
import { FALSE, TRUE, type Truth } from '../language/three-valued.ts';
import { ownAt } from '../language/typed-value.ts';

export type EventFilter = (event: TrustEvent) => 'no' | { sure: boolean; value: string };

const SURE = { sure: true, value: '' };
const PERHAPS = { sure: false, value: '' };

export function compileFilter(spec: EventCount): EventFilter {
  const where = spec.where && compileWhere(spec.where);
  const least = spec.severityMin === undefined ? -1 : rankOf(spec.severityMin);
  const passes = (wanted: readonly string[] | undefined, found: string): boolean =>
    wanted === undefined || wanted.includes(found);
  return (event) => {
    if (!passes(spec.types, event.type) || !passes(spec.subTypes, event.subType)) return 'no';
    if (!passes(spec.actions, event.action) || !passes(spec.results, event.result)) return 'no';
    const rank = least < 0 ? 0 : rankOf(event.severity);
    if (rank >= 0 && rank < least) return 'no';
    const truth = where ? where(event) : TRUE;
    if (truth === FALSE) return 'no';
    // A severity that is not among the known ones may be above the least or below it.
    const sure = truth === TRUE && rank >= 0;
    if (!spec.of) return sure ? SURE : PERHAPS;
    const value = ownAt(event.body, spec.of);
    const isKnown = ['string', 'number', 'bigint', 'boolean'].includes(typeof value) && !isBeyondTypes(value);
    return isKnown ? { sure, value: `${typeof value === 'string' ? 's' : 'n'}${value}` } : PERHAPS;
  };
}

const rankOf = (severity: string): number => (EVENT_SEVERITIES as readonly string[]).indexOf(severity);

/** `where` over the event's body, with a frame of its own. */
function compileWhere(where: Expression): (event: TrustEvent) => Truth {
  const compiler = newCompiler();
  const condition = compiler.condition(where);
  const reader = new FactReader([...compiler.slots.values()], [], 0);
  const never = (): never => {
    throw new Error('an event has no windows and no joined records');
  };
  const readers = { readVirtual: never, readPast: never, showPast: never };
  const frame = newFrame({ rules: 0, slots: compiler.slots.size, truths: compiler.sharedCount }, 0, readers);
  return (event) => {
    frame.record = event.body;
    frame.turn++;
    reader.read(event.body, frame);
    return condition(frame);
  };
}
