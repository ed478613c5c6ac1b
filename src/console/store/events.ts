// console store: writing the event log, and its retention. In: what happened, inside the transaction of the change.
// Out: a row whose body is the event's JSON. Nothing older than the retention, and nothing beyond the last 10,000, is
// ever returned.

import { EVENT_SEVERITIES, type EventSeverity } from '../../platform/contract.ts';
import { type EnduserRow, EVENT_DEVICE_JSON } from './devices.ts';
import { type ConsoleStore, newUuid, type SqlValue, uuidFrom } from './store.ts';

// The blocks of an event that clients read whole: `role`, `policy`, `link`, `channel`, `workload_principal` and others.

type Fields = { [name: string]: unknown };

const LINK_END = {
  container_id: '',
  container_name: '',
  service_id: '',
  service_name: '',
  service_version: '',
  host_name: '',
  ip: '',
};
const LINK = { source: LINK_END, destination: { ...LINK_END, port: '' } };
const ROLE = { id: '', name: '', version: '', bound_by: '', bound_at: 0 };
const POLICY = { id: '', name: '', version: '', attached_by: '', attached_at: 0, enabled: false };
const CHANNEL = {
  access_level: { resource: '' },
  sni_data: { name_requested: '', name_matched: '' },
  request_data: { protocol: '', type: '', query_crud_types: '', query_resources: '' },
};
// biome-ignore format: a list of names
const WORKLOADS = {
  workload_set: {
    container_name: '', container_id: '', image: '', repo: '', tag: '', labels: '', container_ips: '', app_name: '',
  },
  host: { host_ips: '', host_name: '', cluster_id: '', port_map: '' },
};
const SCORE = { id: '', type: '', timestamp: 0, score: 0 };
const NO_SERVICE = { id: '', name: '', type: '', version: '' };
const CLIENT = { user_agent: '', ip_address: '' };
// biome-ignore format: a list of names
const DEVICE = {
  id: '', friendly_name: '', mac_address: '', serial_number: '', registration_status: '', unregistered: false,
  compromised_status: '', compliance_status: '', oem_info: '', model: '', platform: '', ownership: '', architecture: '',
  udid: '', source: '', os: '', last_ip_address: '', last_user_agent: '', last_mdm_data_synced_at: 0,
};
const USER = { name: '', email: '', groups: [], roles: [] };

/** The principal of an event that no device and no person causes: a Resource event has one all the same. */
const NOBODY = { device: DEVICE, user: USER, client: CLIENT };

/** A service as events show it: some clients look for its id in the name. */
function eventService(service: { service_id: string; type: string; version: number } | undefined) {
  if (!service) return NO_SERVICE;
  return { id: service.service_id, name: service.service_id, type: service.type, version: String(service.version) };
}

/** The roles of these names, which administrators bound to a person. */
export function rolesOf(names: readonly string[], orgId: string, boundBy: string) {
  return names.map((name) => ({
    ...ROLE,
    id: uuidFrom(`${orgId}:role:${name}`),
    name,
    version: '1',
    bound_by: boundBy,
  }));
}

export function policyId(name: string, orgId: string): string {
  return uuidFrom(`${orgId}:policy:${name}`);
}

export function policyOf(name: string, orgId: string, attachedBy: string) {
  return { ...POLICY, id: policyId(name, orgId), name, version: '1', attached_by: attachedBy, enabled: true };
}

/** The user of an audit event: who called, by the name of the credential. */
function callerOf(name: string) {
  return { ...USER, email: name };
}

const BLOCKS: Fields = {
  link: LINK,
  policy: POLICY,
  channel: CHANNEL,
  workload_principal: WORKLOADS,
  trustscore: SCORE,
};

/**
 * An event with what its blocks lack, and with the blocks that all events of its kind have. A block is whole or absent, never null; one that
 * older senders give as a name gets its fields. What is no such block stays as it is.
 */
export function filledBlocks<T extends Fields>(event: T): T {
  const filled: Fields = { ...event };
  for (const name of [...Object.keys(BLOCKS), 'role']) if (event[name] === null) delete filled[name];
  for (const [name, block] of Object.entries(BLOCKS)) {
    if (filled[name] !== undefined) filled[name] = whole(block as Fields, named(filled[name]));
  }
  if (Array.isArray(event.role)) filled.role = event.role.map((each) => whole(ROLE, named(each)));
  filled.service = serviceIn(event.service, filled.link);
  filled.user_principal = principalIn(event.user_principal, event.sub_type === 'Resource');
  return filled as T;
}

function named(given: unknown): unknown {
  return typeof given === 'string' ? { name: given } : given;
}

/** The fields that are given, and those of the template that are not; also of the blocks inside it. */
function whole(template: Fields, given: unknown): unknown {
  if (!isFields(given)) return given;
  const filled: Fields = { ...template, ...given };
  for (const [name, inner] of Object.entries(template)) {
    if (isFields(inner)) filled[name] = whole(inner, given[name] ?? {});
  }
  return filled;
}

function serviceIn(given: unknown, link: unknown): unknown {
  if (given !== undefined && given !== null) return whole(NO_SERVICE, given);
  const end = isFields(link) && isFields(link.destination) ? link.destination : {};
  const id = typeof end.service_id === 'string' ? end.service_id : '';
  return { ...NO_SERVICE, id, name: id };
}

function principalIn(given: unknown, isOfResource: boolean): Fields {
  const sent = Object.entries(isFields(given) ? given : {}).filter(([, part]) => part !== null);
  const principal: Fields = { ...(isOfResource ? NOBODY : {}), ...Object.fromEntries(sent) };
  if (isFields(principal.device)) principal.device = whole(DEVICE, withRegistration(principal.device));
  if (isFields(principal.user)) principal.user = whole(USER, principal.user);
  if (isFields(principal.client)) principal.client = whole(CLIENT, principal.client);
  return principal;
}

/** Both spellings: clients read one or the other. */
function withRegistration(device: Fields): Fields {
  const { unregistered, registration_status: status } = device;
  if (typeof status === 'string' && status !== '' && unregistered === undefined) {
    return { ...device, unregistered: status.toUpperCase() === 'FALSE' };
  }
  if (typeof unregistered === 'boolean' && status === undefined) {
    return { ...device, registration_status: unregistered ? 'FALSE' : 'TRUE' };
  }
  return device;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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

// Reading the event log: list, count and feed.

interface EventFilter {
  before?: number | undefined;
  after?: number | undefined;
  /** A minimum. */
  severity?: EventSeverity | undefined;
  type?: string[] | undefined;
  sub_type?: string | undefined;
  user_email?: string[] | undefined;
  device_id?: string | undefined;
  serialnumber?: string[] | undefined;
  workload_container_id?: string[] | undefined;
  service_name?: string[] | undefined;
  service_account_name?: string | undefined;
  action?: string | undefined;
  id?: string | undefined;
  external_id?: string | undefined;
  start_time?: number | undefined;
  end_time?: number | undefined;
}

const LIST_JSON = `'{"message":' || json_quote(message) || ',' || substr(body, 2)`;
// group_id groups the events of one subject: those of one device, or of one person.
const FEED_JSON = `'{"messages":' || json_quote(message) || ',"group_id":'
  || json_quote(iif(device_id <> '', device_id, email)) || ',' || substr(body, 2)`;

export function listEvents(
  store: ConsoleStore,
  filter: EventFilter,
  descending: boolean,
  skip: number,
  limit: number,
  form: 'list' | 'feed',
): string[] {
  const { where, values } = conditionsOf(store, filter);
  const direction = descending ? 'DESC' : 'ASC';
  return store.sql.values<string>(
    `SELECT ${form === 'feed' ? FEED_JSON : LIST_JSON} FROM event WHERE ${where}
      ORDER BY created_at ${direction}, seq ${direction} LIMIT ? OFFSET ?`,
    ...values,
    limit,
    skip,
  );
}

/** The number of matches; one more than are kept when there are more than can be counted. */
export function countEvents(store: ConsoleStore, filter: EventFilter): number {
  const { where, values } = conditionsOf(store, filter);
  const seen = store.sql.value<number>(`SELECT count(*) FROM event WHERE ${where}`, ...values) ?? 0;
  if (seen < store.retention.eventsMax) return seen;
  const hasMore = store.sql.value<number>('SELECT count(*) FROM event') ?? 0;
  return hasMore > seen ? seen + 1 : seen;
}

function conditionsOf(store: ConsoleStore, filter: EventFilter): { where: string; values: SqlValue[] } {
  const parts: string[] = [];
  const values: SqlValue[] = [];
  const add = (text: string, ...bound: SqlValue[]): void => {
    parts.push(text);
    values.push(...bound);
  };
  const anyOf = (column: string, wanted: string[] | undefined): void => {
    if (wanted) add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(wanted));
  };
  const equals = (column: string, wanted: string | undefined): void => {
    if (wanted !== undefined) add(`${column} = ?`, wanted);
  };
  addRetention(store, add);
  for (const upper of [filter.before, filter.end_time]) if (upper !== undefined) add('created_at <= ?', upper);
  for (const lower of [filter.after, filter.start_time]) if (lower !== undefined) add('created_at >= ?', lower);
  if (filter.severity) add('severity >= ?', EVENT_SEVERITIES.indexOf(filter.severity));
  anyOf('type', filter.type);
  anyOf('email', filter.user_email);
  anyOf('serial', filter.serialnumber);
  anyOf('container_id', filter.workload_container_id);
  // Events show a service by its ServiceID, people call it by its name: both find it.
  if (filter.service_name) {
    const wanted = JSON.stringify(filter.service_name);
    const isOne = 'IN (SELECT value FROM json_each(?))';
    add(`(service_name ${isOne} OR container_id ${isOne})`, wanted, wanted);
  }
  equals('sub_type', filter.sub_type);
  equals('device_id', filter.device_id);
  equals('action', filter.action);
  equals('id', filter.id);
  equals('external_id', filter.external_id);
  equals(`json_extract(body, '$.user_principal.service_account.name')`, filter.service_account_name);
  return { where: parts.join(' AND '), values };
}

/** The earliest time (epoch ms) of an event that the log keeps, and what sets it. */
export function beginningOfLog(store: ConsoleStore): { fromMs: number; why: string } {
  const { eventsMs, eventsMax } = store.retention;
  const fromMs = Math.floor(store.clock.nowMs()) - eventsMs;
  const oldestMs = store.sql.value<number>(
    'SELECT created_at FROM event ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET ?',
    eventsMax - 1,
  );
  if (oldestMs !== undefined && oldestMs > fromMs) {
    return { fromMs: oldestMs, why: `the log keeps the last ${eventsMax} events, and has as many newer ones` };
  }
  return { fromMs, why: `the log keeps events for ${Math.round(eventsMs / 86_400_000)} days` };
}

/** The oldest visible event: of the last 10,000, within the last two weeks. */
function addRetention(store: ConsoleStore, add: (text: string, ...bound: SqlValue[]) => void): void {
  add('created_at >= ?', Math.floor(store.clock.nowMs()) - store.retention.eventsMs);
  const hidden = store.sql.get<{ created_at: number; seq: number }>(
    'SELECT created_at, seq FROM event ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET ?',
    store.retention.eventsMax,
  );
  if (hidden) add('(created_at, seq) > (?, ?)', hidden.created_at, hidden.seq);
}
