// pull: the event log between two whole runs: what is new since the last look. In: where to begin, the events that are stored from there on.
// Out: a reading, the new events, and the stretch of time that is now known without a gap. While nothing happens it is one request. A
// server that sends few events at a time (two or more) hides none. It stores nothing.
import type { TrustEvent } from '../domain/event.ts';
import { isFacts, own, ownText } from '../domain/facts.ts';
import { EVENTS_PAGE, readAscending } from './event-pages.ts';
import { brokenReason, type EventPullOptions, finished, type PulledEvents, stateOf } from './pull-events.ts';
import { skippedReading } from './pull-source.ts';
import { attributeToServices } from './service-events.ts';
import { distrust } from './trust-gate.ts';

export interface LookOptions
  extends Pick<EventPullOptions, 'api' | 'clock' | 'nowMs' | 'trust' | 'settings' | 'asksForServices'> {
  fromMs: number;
  /** The stored events from there on: when each was created, by id. */
  known: ReadonlyMap<string, number>;
}

/** `events`: only new ones. Errors: as pullEvents. */
export async function lookAtEvents(options: LookOptions): Promise<PulledEvents> {
  const { api, clock, nowMs, fromMs, known, settings, trust, asksForServices } = options;
  const reading = { ...skippedReading('events', nowMs), state: 'read' as const, form: 'paged' as const };
  try {
    const skip = Math.max(0, known.size - 1);
    const tail = await api.events({ order: 'ASC', afterMs: fromMs, skip, limit: EVENTS_PAGE });
    const newestMs = [...known.values()].reduce((a, b) => Math.max(a, b), fromMs);
    const isTail = continues(tail, known, newestMs);
    const isOver = isTail && tail.length <= Math.min(1, known.size);
    // Counting the events of a service needs all of them.
    const from = isTail && !asksForServices ? newestMs : fromMs;
    const read = isOver ? [] : await readAscending({ api, fromMs: from, pagesMax: settings.pagesMax, reading });
    const events = read.filter(({ id }) => !known.has(id));
    if (asksForServices && events.length > 0) await attributeToServices(api, read, fromMs);
    const count = known.size + events.length;
    const reasons = distrust({
      reading: { ...reading, count },
      repeatedKeys: [],
      values: {},
      baseline: undefined,
      skewMs: api.skewMs(),
      settings: trust,
    });
    const coverage = { fromMs: isTail ? fromMs : wholeFrom(options, read, count), toMs: nowMs };
    return { reading: finished({ ...reading, count: events.length, reasons }, clock), events, coverage };
  } catch (error) {
    const broken = { ...reading, reasons: [brokenReason(error)], state: stateOf(error) };
    return { reading: finished(broken, clock), events: [], coverage: undefined };
  }
}

/**
 * The log is asked for what follows all known events but one: it must begin with the newest of them, and show no other. Anything else shows
 * that an event was written late among them, or that the log was cut.
 */
function continues(
  [first, ...rest]: readonly unknown[],
  known: ReadonlyMap<string, number>,
  newestMs: number,
): boolean {
  const idOf = (value: unknown) => (isFacts(value) ? ownText(value, 'id') : undefined) ?? '';
  if (known.size === 0) return true;
  const isNewest =
    known.get(idOf(first)) === newestMs && own(isFacts(first) ? first : undefined, 'created_at') === newestMs;
  return isNewest && rest.every((value) => !known.has(idOf(value)));
}

/** If the server keeps no more events than these, it may have removed what came before them. */
function wholeFrom({ fromMs, settings }: LookOptions, [oldest]: readonly TrustEvent[], count: number): number {
  return count >= settings.retainedMax && oldest ? Math.max(fromMs, oldest.createdAtMs) : fromMs;
}
