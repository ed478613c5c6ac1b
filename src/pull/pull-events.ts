// pull: the event log, ascending from where the last run ended, with overlap; repeats are dropped by id. Out: a
// reading, the new events, and the stretch of time that is now known without a gap.
import { AppError, lineOf } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import { isFacts, own } from '../domain/facts.ts';
import type { Movement } from '../domain/movement.ts';
import type { Api, Clock } from '../domain/ports.ts';
import type { Coverage, SourceReading, TrustReason } from '../domain/snapshot.ts';
import { readAscending } from './event-pages.ts';
import { skippedReading } from './pull-source.ts';
import { attributeToServices } from './service-events.ts';
import { followMovement, type MovedSource } from './stand-still.ts';
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
  /** How the log moved so far; absent: nobody asks whether it stands still. */
  moved?: MovedSource | undefined;
  /** Some rule counts events of services: services without a name in an event are looked up. */
  asksForServices: boolean;
  trust: TrustSettings;
  settings: EventPullSettings;
}

export interface PulledEvents {
  reading: SourceReading;
  events: TrustEvent[];
  coverage: Coverage | undefined;
  /** With this reading, if it is whole. */
  movement?: Movement | undefined;
}

/** Errors: as pullSource. */
export async function pullEvents(options: EventPullOptions): Promise<PulledEvents> {
  const reading: SourceReading = { ...skippedReading('events', options.clock.nowMs()), state: 'read', form: 'paged' };
  try {
    const fromMs = startOf(options);
    const { api, settings } = options;
    const events = await readAscending({ api, fromMs, pagesMax: settings.pagesMax, reading });
    if (options.asksForServices) await attributeToServices(options.api, events, fromMs);
    const coverage = { fromMs: await knownFrom(options, fromMs), toMs: options.nowMs };
    reading.count = events.length;
    const followed = followLog(options, events);
    reading.reasons = distrust({
      reading,
      repeatedKeys: [],
      values: {},
      baseline: undefined,
      skewMs: options.api.skewMs(),
      still: followed?.still,
      settings: options.trust,
    });
    return { reading: finished(reading, options.clock), events, coverage, movement: followed?.movement };
  } catch (error) {
    reading.reasons = [brokenReason(error)];
    reading.state = stateOf(error);
    return { reading: finished(reading, options.clock), events: [], coverage: undefined };
  }
}

/** A log is told by its newest event, which a reading may not reach back to. */
function followLog({ moved, nowMs, trust }: EventPullOptions, events: readonly TrustEvent[]) {
  if (!moved) return undefined;
  const latestMs = nowMs + trust.skewMs;
  const times = events.map(({ createdAtMs }) => createdAtMs).filter((time) => time <= latestMs);
  const newestMs = times.reduce((a, b) => Math.max(a, b), newestOf(moved) ?? 0);
  return followMovement(moved, { newestMs: newestMs === 0 ? undefined : newestMs }, nowMs, trust);
}

function newestOf(moved: MovedSource | undefined): number | undefined {
  return moved?.before?.signs.newest?.value as number | undefined;
}

/**
 * Where the last gapless stretch ends, minus the overlap; the whole window when it is not known back to its start. While nothing new came, from the
 * newest event on: a log that stood still may bring what it held back.
 */
export function startOf({ nowMs, windowMs, triedMs, known, moved, settings }: EventPullOptions): number {
  const windowFrom = nowMs - windowMs;
  const last = known.at(-1);
  if (!last || last.toMs < windowFrom || last.toMs > nowMs + settings.overlapMs) return windowFrom;
  if (last.fromMs > windowFrom && triedMs < windowMs) return windowFrom;
  return Math.max(windowFrom, Math.min(last.toMs, newestOf(moved) ?? last.toMs) - settings.overlapMs);
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

export function finished(reading: SourceReading, clock: Clock): SourceReading {
  return { ...reading, finishedAt: clock.nowMs(), trusted: reading.reasons.length === 0 };
}

export function brokenReason(error: unknown): TrustReason {
  if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
  const shifted = isFacts(error.detail) && error.detail.cause === 'shifted';
  const code = error.code === 'api_forbidden' ? 'unavailable' : shifted ? 'shifted' : 'incomplete';
  return { source: 'events', code, text: `events: ${lineOf(error)}` };
}

export function stateOf(error: unknown): SourceReading['state'] {
  const code = error instanceof AppError ? error.code : 'internal';
  if (code === 'api_forbidden') return 'unavailable';
  return isFacts((error as AppError).detail) && ((error as AppError).detail as { cause?: unknown }).cause === 'shifted'
    ? 'read'
    : 'failed';
}
