// pull: the event log between two whole runs: what is new since the last look. In: where to begin, the events that are stored from there on.
// Out: a reading, the new events, and the stretch of time that is now known without a gap. While nothing happens it is one request.
// It stores nothing.
import type { TrustEvent } from '../domain/event.ts';
import { EVENTS_PAGE, readAscending } from './event-pages.ts';
import { brokenReason, type EventPullOptions, finished, type PulledEvents, stateOf } from './pull-events.ts';
import { skippedReading } from './pull-source.ts';
import { attributeToServices } from './service-events.ts';
import { distrust } from './trust-gate.ts';

/** What is known of how the server answers, of one process. */
export interface EventPaging {
  /** The most events that one answer had: a shorter one is not cut off. */
  longest: number;
}

export interface LookOptions
  extends Pick<EventPullOptions, 'api' | 'clock' | 'nowMs' | 'trust' | 'settings' | 'asksForServices'> {
  fromMs: number;
  /** The stored events from there on: when each was created, by id. */
  known: ReadonlyMap<string, number>;
  paging: EventPaging;
}

/** `events`: only new ones. Errors: as pullEvents. */
export async function lookAtEvents(options: LookOptions): Promise<PulledEvents> {
  const { api, clock, nowMs, fromMs, known, settings, trust } = options;
  const reading = { ...skippedReading('events', nowMs), state: 'read' as const, form: 'paged' as const };
  try {
    const read = await readAscending({
      api,
      fromMs,
      pagesMax: settings.pagesMax,
      reading,
      isEnd: async ({ values, ids }) => {
        const isCutOff = values.length >= options.paging.longest && values.length >= (await longestAnswer(options));
        options.paging.longest = Math.max(options.paging.longest, values.length);
        return ids.every((id) => known.has(id)) && !isCutOff;
      },
    });
    const events = read.filter(({ id }) => !known.has(id));
    if (options.asksForServices && events.length > 0) await attributeToServices(api, read, fromMs);
    reading.count = read.length;
    const reasons = distrust({
      reading,
      repeatedKeys: [],
      values: {},
      baseline: undefined,
      skewMs: api.skewMs(),
      settings: trust,
    });
    const coverage = { fromMs: knownFrom(options, read, reading.unreadable.count), toMs: nowMs };
    return { reading: finished({ ...reading, reasons }, clock), events, coverage };
  } catch (error) {
    const broken = { ...reading, reasons: [brokenReason(error)], state: stateOf(error) };
    return { reading: finished(broken, clock), events: [], coverage: undefined };
  }
}

/**
 * A server may send fewer events than asked, and nothing else in an answer shows that it was cut off there. Asked once, of the whole log:
 * otherwise every look would need a second request to see that nothing follows.
 */
async function longestAnswer({ api, paging }: LookOptions): Promise<number> {
  if (paging.longest === 0) paging.longest = (await api.events({ order: 'ASC', limit: EVENTS_PAGE })).length;
  return paging.longest;
}

/** If the server keeps no more than these, it may have removed what came before. */
function knownFrom({ fromMs, settings }: LookOptions, read: readonly TrustEvent[], unreadable: number): number {
  const oldestMs = read[0]?.createdAtMs ?? fromMs;
  return read.length + unreadable >= settings.retainedMax ? Math.max(fromMs, oldestMs) : fromMs;
}
