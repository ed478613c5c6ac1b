// pull: the event log, ascending from where the last run ended, with overlap; repeats are dropped by id. Out: a
// reading, the new events, and the stretch of time that is now known without a gap.

import { canonicalJson } from '../../base/json.ts';
import { clip, NAME_MAX } from '../../base/text.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { platformEventId, type TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, isFacts, own, ownText } from '../../domain/facts.ts';
import type { Api, Clock } from '../../domain/ports.ts';
import { eventWithoutSecrets } from '../../domain/secrets.ts';
import type { Coverage, Movement, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import { isOverlong, KEPT_NAME_BYTES_MAX } from '../../domain/subjects.ts';
import { skippedReading } from './pull-source.ts';
import { followMovement, type MovedSource } from './stand-still.ts';
import { distrust, type TrustSettings } from './trust-gate.ts';

// An event as it came → the fields that windows count by.

type ReadEvent = { ok: true; event: TrustEvent } | { ok: false; reason: string };

/** `dropped` receives the names of the secrets in its body, such as `message`: bodies are stored. */
export function readEvent(value: unknown, dropped: Set<string>): ReadEvent {
  if (!isFacts(value)) return { ok: false, reason: 'not an object' };
  const id = idOf(value);
  if (id === undefined || id === '') return { ok: false, reason: 'id is missing or not text' };
  if (isOverlong(id))
    return { ok: false, reason: `id is longer than ${KEPT_NAME_BYTES_MAX} bytes (event ${clip(id, NAME_MAX)})` };
  const createdAtMs = own(value, 'created_at');
  if (typeof createdAtMs !== 'number' || !Number.isSafeInteger(createdAtMs)) {
    return { ok: false, reason: `created_at is not a number of milliseconds (event ${id})` };
  }
  return {
    ok: true,
    event: { id, createdAtMs, ...subjectsOf(value), ...kindsOf(value), body: bodyOf(value, dropped) },
  };
}

function idOf(value: unknown): string | undefined {
  const id = isFacts(value) ? ownText(value, 'id') : undefined;
  return id === undefined ? undefined : platformEventId(id);
}

function subjectsOf(event: Facts) {
  const principal = own(event, 'user_principal');
  const device = own(principal, 'device');
  const destination = own(own(event, 'link'), 'destination');
  const service = own(event, 'service');
  return {
    deviceId: filled(ownText(device, 'id')),
    serialNumber: filled(ownText(device, 'serial_number')),
    email: filled(ownText(own(principal, 'user'), 'email'))?.toLowerCase(),
    serviceId:
      filled(ownText(service, 'id')) ??
      filled(ownText(destination, 'service_id')) ??
      filled(ownText(destination, 'container_id')),
    serviceName: filled(ownText(service, 'name')) ?? filled(ownText(destination, 'service_name')),
  };
}

function kindsOf(event: Facts) {
  const text = (field: string) => ownText(event, field) ?? '';
  return {
    type: text('type'),
    subType: text('sub_type'),
    action: text('action'),
    severity: text('severity').toUpperCase(),
    result: text('result'),
  };
}

function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function bodyOf(event: Facts, dropped: Set<string>): Facts {
  const kept = eventWithoutSecrets(event);
  for (const name of kept.dropped) dropped.add(name);
  const body = isFacts(kept.value) ? kept.value : {};
  writeIntegersAsText(body);
  return body;
}

/**
 * Stored events have big integers as text; fresh ones get the same form, so that a count is the same before and after. In place: nobody
 * else has the event.
 */
function writeIntegersAsText(holder: Facts | Fact[]): void {
  if (Array.isArray(holder)) {
    for (let at = 0; at < holder.length; at++) {
      const value = holder[at] as Fact;
      if (typeof value === 'bigint') holder[at] = String(value);
      else if (typeof value === 'object' && value !== null) writeIntegersAsText(value);
    }
    return;
  }
  for (const key of Object.keys(holder)) {
    const value = holder[key] as Fact;
    if (typeof value === 'bigint') holder[key] = String(value);
    else if (typeof value === 'object' && value !== null) writeIntegersAsText(value);
  }
}

// Pages of the event log from a time on, in ascending order.

/** Events in one request, as asked; a server may send fewer. */
const EVENTS_PAGE = 1_000;

interface EventPages {
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
async function readAscending({ api, fromMs, pagesMax, reading }: EventPages): Promise<TrustEvent[]> {
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

// The service of events that do not name one.

const PAGE = 1_000;
const PAGES_MAX = 20;
/** Names in one request: they are part of its address. */
const NAMES_MAX = 50;

/**
 * Finds the service of each event that does not name one, by asking the server. It counts many services at once; each
 * half is asked for again only where the server counts more events than are known here. Errors: those of reading the
 * API.
 */
export async function attributeToServices(api: Api, events: TrustEvent[], fromMs: number): Promise<void> {
  const unlisted = new Map(events.filter(isUnsettled).map((event) => [event.id, event]));
  if (unlisted.size === 0) return;
  const names = await serviceNames(api);
  const listed = countsByName(events);
  for (let at = 0; at < names.length && unlisted.size > 0; at += NAMES_MAX) {
    await search({ api, fromMs, listed, unlisted }, names.slice(at, at + NAMES_MAX));
  }
}

interface Search {
  api: Api;
  fromMs: number;
  /** By service name: how many of the events name it. */
  listed: ReadonlyMap<string, number>;
  /** Events that name no service, by id. */
  unlisted: Map<string, TrustEvent>;
}

async function search(state: Search, names: readonly string[]): Promise<void> {
  const known = names.reduce((sum, name) => sum + (state.listed.get(name) ?? 0), 0);
  const counted = await state.api.countEvents({ serviceName: names.join('|'), afterMs: state.fromMs });
  if (counted <= known) return;
  const [only] = names;
  if (names.length === 1 && only !== undefined) return claimEvents(state, only);
  const half = Math.ceil(names.length / 2);
  await search(state, names.slice(0, half));
  await search(state, names.slice(half));
}

/** Reads the events of one service and sets its name in those that had none. */
async function claimEvents({ api, fromMs, unlisted }: Search, name: string): Promise<void> {
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = { serviceName: name, order: 'ASC' as const, afterMs: fromMs, skip: page * PAGE, limit: PAGE };
    const found = await api.events(query);
    for (const value of found) {
      const event = unlisted.get(idOf(value) ?? '');
      if (event === undefined) continue;
      event.serviceName = name;
      unlisted.delete(event.id);
    }
    if (found.length < PAGE) return;
  }
}

function isUnsettled(event: TrustEvent): boolean {
  return event.serviceId === undefined && event.serviceName === undefined;
}

/** A pipe separates names in a query, so a name that contains one cannot be queried. */
async function serviceNames(api: Api): Promise<string[]> {
  const names = new Set<string>();
  try {
    for await (const batch of api.stream('services')) {
      for (const value of batch) {
        const name = isFacts(value) ? ownText(value, 'ServiceName') : undefined;
        if (name !== undefined && name !== '' && !name.includes('|')) names.add(name);
      }
    }
  } catch (error) {
    // An edition without services has no service whose events could be missing.
    if (!(error instanceof AppError && error.code === 'api_forbidden')) throw error;
  }
  return [...names];
}

/** An event's ServiceID is `name.cluster.suffix`: it gives the name even when only the id is present. */
function countsByName(events: readonly TrustEvent[]): Map<string, number> {
  const listed = new Map<string, number>();
  for (const { serviceName, serviceId } of events) {
    const name = serviceName ?? serviceId?.split('.')[0];
    if (name !== undefined) listed.set(name, (listed.get(name) ?? 0) + 1);
  }
  return listed;
}

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

// The event log between two whole runs: what is new since the last look.

interface LookOptions
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
  if (known.size === 0) return true;
  const isNewest =
    known.get(idOf(first) ?? '') === newestMs && own(isFacts(first) ? first : undefined, 'created_at') === newestMs;
  return isNewest && rest.every((value) => !known.has(idOf(value) ?? ''));
}

/** If the server keeps no more events than these, it may have removed what came before them. */
function wholeFrom({ fromMs, settings }: LookOptions, [oldest]: readonly TrustEvent[], count: number): number {
  return count >= settings.retainedMax && oldest ? Math.max(fromMs, oldest.createdAtMs) : fromMs;
}
