// explain: the event log read now, for a look that stores nothing: what is stored, and what came since.
// In: the API and what is known. Out: events with the time that their windows end at, and how the reading went. Writes nothing.
import type { TrustEvent } from '../domain/event.ts';
import type { Api, Clock } from '../domain/ports.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { Coverage, SourceReading } from '../domain/snapshot.ts';
import { type EventPullSettings, pullEvents } from '../pull/pull-events.ts';
import type { TrustSettings } from '../pull/trust-gate.ts';

export interface EventReading {
  api: Api;
  clock: Clock;
  reader: Pick<PullReader, 'coverage' | 'events'>;
  nowMs: number;
  windowMs: number;
  /** A rule counts events of services: those that name none are asked for. */
  asksForServices: boolean;
  settings: { events: EventPullSettings; trust: TrustSettings };
}

export interface ReadEvents {
  events: TrustEvent[];
  coverage: Coverage[];
  reading: SourceReading;
  /** Windows end then: now, or when the log was last read, should it not be readable now; undefined: it never was. */
  atMs: number | undefined;
}

/** Errors: AppError `api_refused`, `stopped`; all else is told by the reading. */
export async function readEvents(options: EventReading): Promise<ReadEvents> {
  const { api, clock, reader, nowMs, windowMs, asksForServices, settings } = options;
  const known = await reader.coverage();
  const pulled = await pullEvents({
    api,
    clock,
    nowMs,
    windowMs,
    triedMs: 0, // nothing is remembered of how far back an earlier look reached
    known,
    asksForServices,
    trust: settings.trust,
    settings: settings.events,
  });
  const { reading } = pulled;
  const coverage = pulled.coverage ? [...known, pulled.coverage] : known;
  if (reading.state === 'unavailable') return { events: [], coverage: [], reading, atMs: undefined };
  const atMs = coverage.at(-1)?.toMs;
  const events: TrustEvent[] = [];
  for await (const batch of reader.events((atMs ?? nowMs) - windowMs)) events.push(...batch);
  return { events: [...events, ...pulled.events], coverage, reading, atMs };
}
