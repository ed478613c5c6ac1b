// pull: the event log, ascending from where the last run ended, with overlap; repeats are dropped by id. Out: a
// reading, the new events, and the stretch of time that is now known without a gap.
import { canonicalJson } from '../domain/canonical.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import { isFacts, own } from '../domain/facts.ts';
import type { Api, Clock } from '../domain/ports.ts';
import type { Coverage, SourceReading, TrustReason } from '../domain/snapshot.ts';
import { readEvent } from './event-record.ts';
import { skippedReading } from './pull-source.ts';
import { attributeToServices } from './service-events.ts';
import { distrust, type TrustSettings } from './trust-gate.ts';

export interface EventPullSettings {
  /** How far before the end of the last read the next one begins: events that are written late are still seen. */
  overlapMs: number;
  /** The server keeps this many events, and for this long (field notes). Beyond either, older ones are gone. */
  retainedMax: number;
  retainedMs: number;
  pagesMax: number;
}

export const EVENT_PULL_DEFAULT: EventPullSettings = {
  overlapMs: 300_000,
  retainedMax: 10_000,
  retainedMs: 14 * 86_400_000,
  pagesMax: 200,
};

export interface EventPullOptions {
  api: Api;
  clock: Clock;
  nowMs: number;
  /** The longest window of the active rules. */
  windowMs: number;
  /** The longest window that this process has already read back for: what is still unknown then is gone. */
  triedMs: number;
  known: readonly Coverage[];
  /** Some rule counts events of services: services without a name in an event are looked up. */
  asksForServices: boolean;
  trust: TrustSettings;
  settings: EventPullSettings;
}

export interface PulledEvents {
  reading: SourceReading;
  events: TrustEvent[];
  coverage: Coverage | undefined;
}

const PAGE = 1_000;

/** Errors: as pullSource. */
export async function pullEvents(options: EventPullOptions): Promise<PulledEvents> {
  const reading: SourceReading = { ...skippedReading('events', options.clock.nowMs()), state: 'read', form: 'paged' };
  try {
    const fromMs = startOf(options);
    const events = await readAscending(options, fromMs, reading);
    if (options.asksForServices) await attributeToServices(options.api, events, fromMs);
    const coverage = { fromMs: await knownFrom(options, fromMs), toMs: options.nowMs };
    reading.count = events.length;
    reading.reasons = distrust({
      reading,
      repeatedKeys: [],
      values: {},
      baseline: undefined,
      skewMs: options.api.skewMs(),
      settings: options.trust,
    });
    return { reading: finished(reading, options.clock), events, coverage };
  } catch (error) {
    reading.reasons = [brokenReason(error)];
    reading.state = stateOf(error);
    return { reading: finished(reading, options.clock), events: [], coverage: undefined };
  }
}

/** Where the last gapless stretch ends, minus the overlap; the whole window when it is not known back to its start. */
export function startOf({ nowMs, windowMs, triedMs, known, settings }: EventPullOptions): number {
  const windowFrom = nowMs - windowMs;
  const last = known.at(-1);
  if (!last || last.toMs < windowFrom || last.toMs > nowMs + settings.overlapMs) return windowFrom;
  if (last.fromMs > windowFrom && triedMs < windowMs) return windowFrom;
  return Math.max(windowFrom, last.toMs - settings.overlapMs);
}

/**
 * Reads by time, not by skipping: an event that retention removes at the front cannot shift what follows. The bound is
 * inclusive, so the last millisecond is read again and its repeats are dropped; a millisecond that fills whole pages is
 * read by skipping within it, until a page is empty (or brings nothing but repeats a second time).
 */
async function readAscending(options: EventPullOptions, fromMs: number, reading: SourceReading): Promise<TrustEvent[]> {
  const byId = new Map<string, TrustEvent>();
  const unreadable = new Set<string>();
  const eventsMax = options.settings.pagesMax * PAGE;
  let [cursor, skip] = [fromMs, 0];
  for (let page = 0; page < options.settings.pagesMax; page += 1) {
    const values = await options.api.events({ order: 'ASC', afterMs: cursor, skip, limit: PAGE });
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

/**
 * The start of the whole part of the log: retention may have removed what lay between the last read and its oldest
 * event.
 */
async function knownFrom(options: EventPullOptions, fromMs: number): Promise<number> {
  const { api, nowMs, settings } = options;
  const [oldest] = await api.events({ order: 'ASC', limit: 1 });
  const oldestMs = own(isFacts(oldest) ? oldest : undefined, 'created_at');
  if (typeof oldestMs === 'number' && oldestMs <= fromMs) return fromMs;
  const retained = await api.countEvents({});
  if (retained >= settings.retainedMax && typeof oldestMs === 'number') return Math.max(fromMs, oldestMs);
  return Math.max(fromMs, nowMs - settings.retainedMs);
}

function finished(reading: SourceReading, clock: Clock): SourceReading {
  return { ...reading, finishedAt: clock.nowMs(), trusted: reading.reasons.length === 0 };
}

function brokenReason(error: unknown): TrustReason {
  if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
  const shifted = isFacts(error.detail) && error.detail.cause === 'shifted';
  const code = error.code === 'api_forbidden' ? 'unavailable' : shifted ? 'shifted' : 'incomplete';
  return { source: 'events', code, text: `events: ${lineOf(error)}` };
}

function stateOf(error: unknown): SourceReading['state'] {
  const code = error instanceof AppError ? error.code : 'internal';
  if (code === 'api_forbidden') return 'unavailable';
  return isFacts((error as AppError).detail) && ((error as AppError).detail as { cause?: unknown }).cause === 'shifted'
    ? 'read'
    : 'failed';
}
