// console store: reading the event log: list, count and feed. In: checked filters. Out: events as JSON text, or how
// many. Bounds of time are inclusive; events past retention are hidden, even while still stored.
import { EVENT_SEVERITIES, type EventSeverity } from '../../management/contract.ts';
import type { SqlValue } from './sql.ts';
import type { ConsoleStore } from './store.ts';

export interface EventFilter {
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
