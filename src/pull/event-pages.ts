// pull: pages of the event log from a time on, in ascending order. In: the API, the start. Out: the events, once
// each; what cannot be read is counted in the reading. It never takes a gap for an end.
import { canonicalJson } from '../domain/canonical.ts';
import { AppError } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Api } from '../domain/ports.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import { readEvent } from './event-record.ts';

/** Events in one request, as asked; a server may send fewer. */
export const EVENTS_PAGE = 1_000;

export interface EventPages {
  api: Pick<Api, 'events'>;
  fromMs: number;
  pagesMax: number;
  /** Counts what is unreadable and dropped. */
  reading: SourceReading;
}

/**
 * Reads by time, not by skipping: an event that retention removes at the front cannot shift what follows. The bound is
 * inclusive, so the last millisecond is read again and its repeats are dropped; a millisecond that fills whole pages is
 * read by skipping within it, until a page is empty (or brings nothing but repeats a second time).
 */
export async function readAscending({ api, fromMs, pagesMax, reading }: EventPages): Promise<TrustEvent[]> {
  const byId = new Map<string, TrustEvent>();
  const unreadable = new Set<string>();
  const eventsMax = pagesMax * EVENTS_PAGE;
  let [cursor, skip] = [fromMs, 0];
  for (let page = 0; page < pagesMax; page += 1) {
    const values = await api.events({ order: 'ASC', afterMs: cursor, skip, limit: EVENTS_PAGE });
    const { last, repeats } = takePage(values, cursor, byId, unreadable, reading);
    const isOver = values.length === 0 || (skip > 0 && repeats === values.length);
    if (isOver) return [...byId.values()];
    if (byId.size + unreadable.size > eventsMax) break; // a server that ignored `limit`
    if (last === cursor) skip += values.length;
    else [cursor, skip] = [last, 0];
  }
  throw new AppError('api_answer', `the event log has more than ${eventsMax} events since the last run`);
}

/**
 * Takes a page's events; returns the time of the last one, and how many had come before. A page that does not ascend
 * proves no coverage.
 */
function takePage(
  values: unknown[],
  cursor: number,
  byId: Map<string, TrustEvent>,
  unreadable: Set<string>,
  reading: SourceReading,
): { last: number; repeats: number } {
  let [last, repeats] = [cursor, 0];
  const dropped = new Set(reading.dropped);
  for (const value of values) {
    const read = readEvent(value, dropped);
    if (!read.ok) {
      repeats += noteUnreadable(value, read.reason, unreadable, reading) ? 0 : 1;
      continue;
    }
    const { createdAtMs, id } = read.event;
    if (createdAtMs < cursor) continue; // a server that ignored `after`
    if (createdAtMs < last)
      throw new AppError('api_answer', 'the event log did not come in ascending order', {
        detail: { cause: 'shifted' },
      });
    last = createdAtMs;
    if (byId.has(id)) repeats += 1;
    byId.set(id, read.event);
  }
  reading.dropped = [...dropped];
  return { last, repeats };
}

/** Counts each unreadable event once, however often the inclusive bound repeats it; returns whether it was new. */
function noteUnreadable(value: unknown, reason: string, seen: Set<string>, reading: SourceReading): boolean {
  const text = canonicalJson(value);
  if (seen.has(text)) return false;
  seen.add(text);
  reading.unreadable.count += 1;
  if (reading.unreadable.examples.length < 100) reading.unreadable.examples.push(reason);
  return true;
}
