// console store: writing the event log, and its retention. In: what happened, inside the transaction of the change.
// Out: a row whose body is the event's JSON. Nothing older than the retention, and nothing beyond the last 10,000, is
// ever returned.
import { EVENT_SEVERITIES, type EventSeverity } from '../../management/contract.ts';
import type { EnduserRow } from './endusers.ts';
import { callerOf, eventService, NOBODY } from './event-blocks.ts';
import { EVENT_DEVICE_JSON } from './records.ts';
import { type ConsoleStore, newUuid } from './store.ts';

/** Members of the event's JSON beyond those that every event has; values are JSON text. */
export type EventMembers = { [name: string]: string };

export interface Client {
  user_agent: string;
  ip_address: string;
  geo_location: { city: string; country: string; region: string };
}

export interface EventDraft {
  type: string;
  subType: string;
  action: string;
  severity: EventSeverity;
  message: string;
  /** Defaults: the severity, empty for Access. */
  result?: string;
  id?: string;
  externalId?: string;
  createdAtMs?: number;
  /** The event's device, as it is at this moment. */
  devicePk?: number | undefined;
  user?: EnduserRow | undefined;
  /** Who called, by name, instead of a user: audit events have it. */
  caller?: string;
  /** What the user's program was, and where. */
  client?: Client;
  service?: { service_id: string; name: string; type: string; version: number } | undefined;
  /** Keys for searching, when the body's parts have none. */
  keys?: { deviceId?: string; serial?: string; email?: string; serviceName?: string; containerId?: string };
  members?: EventMembers;
}

/** Writes one event; returns its id. A draft with the id of a kept event is dropped: an id counts once. */
export function writeEvent(store: ConsoleStore, draft: EventDraft): string {
  const id = draft.id ?? newUuid(store, 'event');
  const createdAtMs = timeOf(store, draft.createdAtMs);
  const device = draft.devicePk === undefined ? undefined : eventDevice(store, draft.devicePk, draft);
  const keys = draft.keys ?? {};
  const row = {
    device: keys.deviceId ?? device?.device_id ?? '',
    serial: keys.serial ?? device?.serial ?? '',
    email: keys.email ?? draft.caller ?? draft.user?.email ?? '',
    serviceName: keys.serviceName ?? draft.service?.name ?? '',
    containerId: keys.containerId ?? draft.service?.service_id ?? '',
  };
  store.sql.run(
    `INSERT INTO event (id, external_id, created_at, severity, type, sub_type, action, device_id, serial, email,
      service_name, container_id, message, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    id,
    draft.externalId ?? '',
    createdAtMs,
    EVENT_SEVERITIES.indexOf(draft.severity),
    draft.type,
    draft.subType,
    draft.action,
    row.device,
    row.serial,
    row.email,
    row.serviceName,
    row.containerId,
    draft.message,
    bodyOf(store, draft, id, createdAtMs, device?.json),
  );
  return id;
}

function bodyOf(
  store: ConsoleStore,
  draft: EventDraft,
  id: string,
  createdAtMs: number,
  deviceJson: string | undefined,
): string {
  const text = JSON.stringify;
  const members: EventMembers = {
    id: text(id),
    org_id: text(store.org.id),
    org_name: text(store.org.name),
    severity: text(draft.severity),
    action: text(draft.action),
    type: text(draft.type),
    sub_type: text(draft.subType),
    result: text(draft.result ?? (draft.type === 'Access' ? '' : draft.severity)),
    created_at: String(createdAtMs),
    created_at_ns: `${createdAtMs}000000`,
    service: text(eventService(draft.service)),
  };
  if (draft.externalId) members.external_id = text(draft.externalId);
  members.user_principal = principalOf(draft, deviceJson);
  return `{${Object.entries({ ...members, ...draft.members })
    .map(([name, value]) => `${text(name)}:${value}`)
    .join(',')}}`;
}

function principalOf({ caller, user, client, subType }: EventDraft, device: string | undefined): string {
  // Clients read device and client of every Resource event, also where nobody causes it.
  const nobody: Partial<typeof NOBODY> = subType === 'Resource' ? NOBODY : {};
  const parts = {
    device: device ?? JSON.stringify(nobody.device),
    user: user && !caller ? eventUser(user) : JSON.stringify(caller ? callerOf(caller) : nobody.user),
    client: JSON.stringify(client ?? nobody.client),
  };
  return `{${Object.entries(parts)
    .flatMap(([name, part]) => (part === undefined ? [] : [`"${name}":${part}`]))
    .join(',')}}`;
}

function eventDevice(
  store: ConsoleStore,
  pk: number,
  { action, client }: EventDraft,
): { device_id: string; serial: string; json: string } | undefined {
  const registered = action === 'Unregister' ? 'FALSE' : null;
  return store.sql.get(
    `SELECT t.device_id, t.serial, ${EVENT_DEVICE_JSON} AS json FROM device t WHERE t.pk = ?`,
    registered,
    registered,
    client?.ip_address ?? '',
    client?.user_agent ?? '',
    pk,
  );
}

function eventUser(user: EnduserRow): string {
  const groups = user.groups === '' ? [] : user.groups.split(',').map((name) => name.trim());
  const named = JSON.stringify({ name: user.name, email: user.email, groups });
  return `${named.slice(0, -1)},"roles":${user.roles}}`;
}

/** How many events have a time that their clients sent; the next of them gets a later one. */
const SENT_ALIKE_MAX = 2;
const FULL_TIMES_KEPT_MAX = 50_000;

/**
 * The time of a new event. Clients read ten events at a time, from the time of the last one on: ten events of one millisecond end such a
 * reading early, without an error. So no two events that the console makes have the same time, and few of those that it is sent. A
 * later one never gets an earlier time: who has read up to the newest event misses none.
 */
function timeOf(store: ConsoleStore, sentMs: number | undefined): number {
  const isSent = sentMs !== undefined;
  const full = isSent ? store.fullTimes.sent : store.fullTimes.made;
  const passed: number[] = [];
  let ms = sentMs ?? Math.floor(store.clock.nowMs());
  for (;;) {
    const next = full.get(ms);
    if (next === undefined && eventsAt(store, ms) < (isSent ? SENT_ALIKE_MAX : 1)) break;
    passed.push(ms);
    ms = next ?? ms + 1;
  }
  // What was walked once is jumped over from then on: a thousand events of one time cost a thousand steps.
  if (full.size > FULL_TIMES_KEPT_MAX) full.clear();
  for (const each of passed) full.set(each, ms);
  return ms;
}

function eventsAt(store: ConsoleStore, ms: number): number {
  return store.sql.value<number>('SELECT count(*) FROM event WHERE created_at = ?', ms) ?? 0;
}

/** Deletes events past retention. One row beyond the last 10,000 stays, as a sign that there were more. */
export function pruneEvents(store: ConsoleStore): void {
  const { eventsMax, eventsMs } = store.retention;
  store.sql.run('DELETE FROM event WHERE created_at < ?', Math.floor(store.clock.nowMs()) - eventsMs);
  store.sql.run(
    `DELETE FROM event WHERE seq IN
      (SELECT seq FROM event ORDER BY created_at DESC, seq DESC LIMIT -1 OFFSET ?)`,
    eventsMax + 1,
  );
}
