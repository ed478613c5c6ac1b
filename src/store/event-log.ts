// store: the events that windows count, and the stretches of time for which the log was read without a gap: the platform's log, and signals of transmitters.
// Rows and coverage commit together: coverage never includes a stretch whose events are not stored.
import { canonicalJson } from '../base/json.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Coverage, coverageOf } from '../domain/snapshot.ts';
import type { ObservedEvents } from '../domain/store.ts';
import type { ServiceUse } from '../domain/store-ports.ts';
import type { Db, Row, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

// One stored event of the log ↔ its row.

type Value = string | number | null;

export const EVENT_COLUMNS = [
  'id',
  'created_at',
  'device_id',
  'serial_number',
  'email',
  'service_id',
  'service_name',
  'type',
  'sub_type',
  'action',
  'severity',
  'result',
  'body',
  'transmitter',
] as const;

/** In the order of `EVENT_COLUMNS`. */
export function rowOfEvent(event: TrustEvent): Value[] {
  return [
    event.id,
    event.createdAtMs,
    event.deviceId ?? null,
    event.serialNumber ?? null,
    event.email ?? null,
    event.serviceId ?? null,
    event.serviceName ?? null,
    event.type,
    event.subType,
    event.action,
    event.severity,
    event.result,
    textOfBody(event.body),
    event.transmitter ?? null,
  ];
}

/** Nothing compares bodies, so their keys keep their order. `JSON.stringify` writes a number that no type can hold as `null`. */
function textOfBody(body: TrustEvent['body']): string {
  try {
    const text = JSON.stringify(body);
    if (!text.includes('null')) return text;
  } catch {
    // a big integer
  }
  return canonicalJson(body);
}

/** The text of an event's body, or the body once it was read. */
const TEXT = Symbol('text');

/**
 * Its body is parsed when it is first read, by a getter that all events share: a getter of its own would make each event a table of
 * properties, which took twice the time and several times the memory. Errors: AppError `store_damaged`, of that reading.
 */
export function eventOfRow(row: Row): TrustEvent {
  const event = {
    id: row.id as string,
    createdAtMs: row.created_at as number,
    deviceId: orUndefined(row.device_id),
    serialNumber: orUndefined(row.serial_number),
    email: orUndefined(row.email),
    serviceId: orUndefined(row.service_id),
    serviceName: orUndefined(row.service_name),
    type: row.type as string,
    subType: row.sub_type as string,
    action: row.action as string,
    severity: row.severity as string,
    result: row.result as string,
    transmitter: orUndefined(row.transmitter),
  };
  Object.defineProperty(event, TEXT, { value: row.body, writable: true });
  return Object.defineProperty(event as TrustEvent, 'body', BODY);
}

const BODY = {
  enumerable: true,
  get(this: { [TEXT]: unknown }) {
    if (typeof this[TEXT] === 'string') this[TEXT] = storedJson<TrustEvent['body']>(this[TEXT]);
    return this[TEXT];
  },
};

const orUndefined = (value: unknown): string | undefined => (value === null ? undefined : (value as string));

const BATCH = 1_000;

/** What was taken up of the signals that were received leaves their table. */
function* dropTaken(db: Db, events: readonly TrustEvent[]): Work<void> {
  const ids = JSON.stringify(events.map(({ id }) => id));
  if (ids !== '[]') yield* db.run('DELETE FROM signals WHERE id IN (SELECT value FROM json_each(?))', ids);
}

/** INVARIANT: called inside a transaction. */
export function* saveEvents(db: Db, observed: ObservedEvents): Work<{ added: number }> {
  let added = 0;
  const events = [...observed.events, ...(observed.signals?.events ?? [])];
  for (let at = 0; at < events.length; at += BATCH) {
    const rows = events.slice(at, at + BATCH).map(rowOfEvent);
    added += yield* db.insertMany('events', EVENT_COLUMNS, rows, 'ON CONFLICT DO NOTHING');
  }
  if (observed.coverage) yield* saveCoverage(db, observed.coverage);
  for (const stretch of observed.signals?.coverage ?? []) yield* saveCoverage(db, stretch);
  if (observed.signals) yield* dropTaken(db, observed.signals.events);
  // The newest row stays: its number is never given again, so that whoever reads on from a number misses no event and reads none twice.
  yield* db.run(
    'DELETE FROM events WHERE created_at < ? AND no <= ? AND no < (SELECT max(no) FROM events)',
    observed.forgetBeforeMs,
    observed.unreadAfterNo ?? Number.MAX_SAFE_INTEGER,
  );
  yield* db.run('DELETE FROM coverage WHERE to_ms < ?', observed.forgetBeforeMs);
  // What is forgotten is no longer known: a rule with a longer window must not take it for a time without events.
  yield* db.run('UPDATE coverage SET from_ms = ? WHERE from_ms < ?', observed.forgetBeforeMs, observed.forgetBeforeMs);
  yield* forgetProven(db, observed.forgetBeforeMs);
  return { added };
}

/** What was proven of transmitters counts for signals that are kept: the stretch would otherwise be known again for the next longer window. */
export function* forgetProven(db: Db, beforeMs: number): Work<void> {
  const sql =
    'UPDATE transmitters SET known_from = CASE WHEN known_to < ? THEN known_to ELSE ? END WHERE known_from < ?';
  yield* db.run(sql, beforeMs, beforeMs, beforeMs);
}

const TOUCHING = 'FROM coverage WHERE transmitter = ? AND to_ms >= ? AND from_ms <= ?';

/** Merges a stretch with those of its log that it touches. */
function* saveCoverage(db: Db, { transmitter = '', ...stretch }: Coverage): Work<void> {
  const near = [transmitter, stretch.fromMs, stretch.toMs];
  const touching = yield* db.all<{ from_ms: number; to_ms: number }>(`SELECT from_ms, to_ms ${TOUCHING}`, ...near);
  yield* db.run(`DELETE ${TOUCHING}`, ...near);
  yield* db.insert('coverage', {
    transmitter,
    from_ms: Math.min(stretch.fromMs, ...touching.map((row) => row.from_ms)),
    to_ms: Math.max(stretch.toMs, ...touching.map((row) => row.to_ms)),
  });
}

export function* readCoverage(db: Db): Work<Coverage[]> {
  const rows = yield* db.all<{ transmitter: string; from_ms: number; to_ms: number }>(
    'SELECT transmitter, from_ms, to_ms FROM coverage ORDER BY from_ms, transmitter',
  );
  return rows.map(({ transmitter, from_ms, to_ms }) => ({
    ...(transmitter !== '' && { transmitter }),
    fromMs: from_ms,
    toMs: to_ms,
  }));
}

/** A page waits for them: the newest are counted. Those of the platform alone are uses. */
const USES_MAX = 20_000;
const OLDEST_USE =
  'SELECT created_at AS at FROM events WHERE transmitter IS NULL ORDER BY created_at DESC LIMIT 1 OFFSET ?';
const USES = `SELECT service_id AS service, count(DISTINCT email) AS people, count(*) - count(email) AS nameless FROM events
  WHERE transmitter IS NULL AND created_at > ? AND type = 'Access' AND action = 'Authorized' AND service_id IS NOT NULL GROUP BY service_id`;

export function* serviceUse(db: Db): Work<ServiceUse | undefined> {
  const stretch = coverageOf(yield* readCoverage(db)).at(-1);
  if (stretch === undefined) return undefined;
  const oldest = yield* db.get<{ at: number }>(OLDEST_USE, USES_MAX);
  const fromMs = Math.max(stretch.fromMs, Number(oldest?.at ?? 0));
  const rows = yield* db.all<{ service: string; people: number; nameless: number }>(USES, fromMs);
  const services = rows.map(({ service, people, nameless }) => {
    return [service, { people: Number(people), isLeast: Number(nameless) > 0 }] as const;
  });
  return services.length === 0 ? undefined : { fromMs, toMs: stretch.toMs, services: new Map(services) };
}

/**
 * Events that are in memory at once. Of a thousand, most outlive the young collections, and V8 then begins to make them where garbage stays
 * long.
 */
const READ_AT_ONCE = 200;

/** Stored events from a time on, oldest first, in batches. */
export async function* eventsFrom(db: Db, fromMs: number, type?: string): AsyncIterable<TrustEvent[]> {
  const [sql, ...of] = type === undefined ? [nextEvents('')] : [nextEvents('AND type = ?'), type];
  let [time, no] = [fromMs, -1];
  for (;;) {
    const rows = await db.reading(db.all(sql, time, no, ...of, READ_AT_ONCE));
    if (rows.length === 0) return;
    yield rows.map(eventOfRow);
    const last = rows.at(-1);
    [time, no] = [Number(last?.created_at), Number(last?.no)];
  }
}

/** Of the newest stored event; 0 without any. */
export function* lastEventNo(db: Db): Work<number> {
  return (yield* db.get<{ no: number | null }>('SELECT max(no) AS no FROM events'))?.no ?? 0;
}

/** Stored events after one number, up to another one, in batches. */
export async function* eventsBetween(db: Db, afterNo: number, upToNo: number): AsyncIterable<TrustEvent[]> {
  const sql = `SELECT no, ${EVENT_COLUMNS.join(', ')} FROM events WHERE no > ? AND no <= ? ORDER BY no LIMIT ${READ_AT_ONCE}`;
  for (let last = afterNo; ; ) {
    const rows = await db.reading(db.all(sql, last, upToNo));
    if (rows.length === 0) return;
    yield rows.map(eventOfRow);
    last = Number(rows.at(-1)?.no);
  }
}

const nextEvents = (of: string) =>
  `SELECT no, ${EVENT_COLUMNS.join(', ')} FROM events WHERE (created_at, no) > (?, ?) ${of} ORDER BY created_at, no LIMIT ?`;
