// console store: writing the event log, and its retention. In: what happened, inside the transaction of the change.
// Out: a row whose body is the event's JSON. Nothing older than the retention, and nothing beyond the last 10,000, is
// ever returned.
import { EVENT_SEVERITIES, type EventSeverity } from '../../management/contract.ts';
import type { EnduserRow } from './endusers.ts';
import { callerOf } from './event-blocks.ts';
import { EVENT_DEVICE_JSON } from './records.ts';
import { type ConsoleStore, newUuid } from './store.ts';

/** Members of the event's JSON beyond those that every event has; values are JSON text. */
export type EventMembers = { [name: string]: string };

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
  client?: { user_agent: string; ip_address: string };
  service?: { id: string; name: string; type: string; version: string } | undefined;
  /** Keys for searching, when the body's parts have none. */
  keys?: { deviceId?: string; serial?: string; email?: string; serviceName?: string; containerId?: string };
  members?: EventMembers;
}

/** Writes one event; returns its id. A draft with the id of a kept event is dropped: an id counts once. */
export function writeEvent(store: ConsoleStore, draft: EventDraft): string {
  const id = draft.id ?? newUuid(store, 'event');
  const createdAtMs = draft.createdAtMs ?? Math.floor(store.clock.nowMs());
  const device =
    draft.devicePk === undefined ? undefined : eventDevice(store, draft.devicePk, draft.action === 'Unregister');
  const keys = draft.keys ?? {};
  const row = {
    device: keys.deviceId ?? device?.device_id ?? '',
    serial: keys.serial ?? device?.serial ?? '',
    email: keys.email ?? draft.caller ?? draft.user?.email ?? '',
    serviceName: keys.serviceName ?? draft.service?.name ?? '',
    containerId: keys.containerId ?? draft.service?.id ?? '',
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
  };
  if (draft.externalId) members.external_id = text(draft.externalId);
  const principal = [
    ...(deviceJson ? [`"device":${deviceJson}`] : []),
    ...(draft.caller ? [`"user":${text(callerOf(draft.caller))}`] : []),
    ...(draft.user && !draft.caller ? [`"user":${eventUser(draft.user)}`] : []),
    ...(draft.client ? [`"client":${text(draft.client)}`] : []),
  ];
  if (principal.length > 0) members.user_principal = `{${principal.join(',')}}`;
  if (draft.service) members.service = text(draft.service);
  return `{${Object.entries({ ...members, ...draft.members })
    .map(([name, value]) => `${text(name)}:${value}`)
    .join(',')}}`;
}

function eventDevice(
  store: ConsoleStore,
  pk: number,
  isUnregistration: boolean,
): { device_id: string; serial: string; json: string } | undefined {
  const registered = isUnregistration ? 'FALSE' : null;
  return store.sql.get(
    `SELECT t.device_id, t.serial, ${EVENT_DEVICE_JSON} AS json FROM device t WHERE t.pk = ?`,
    registered,
    registered,
    pk,
  );
}

function eventUser(user: EnduserRow): string {
  const groups = user.groups === '' ? [] : user.groups.split(',').map((name) => name.trim());
  return `{"email":${JSON.stringify(user.email)},"groups":${JSON.stringify(groups)},"roles":${user.roles}}`;
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
