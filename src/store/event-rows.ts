// store: one stored event of the log ↔ its row. In: an event. Out: the values of a row, the body as JSON text; and the event again, whose
// body is parsed when it is first read: filling the windows of a fresh process reads most events without it.
import { canonicalJson } from '../domain/canonical.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Row } from './queries.ts';
import { storedJson } from './stored-json.ts';

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

/** Errors: AppError `store_damaged`, when the body is first read. */
export function eventOfRow(row: Row): TrustEvent {
  let body: TrustEvent['body'] | undefined;
  return {
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
    get body() {
      body ??= storedJson<TrustEvent['body']>(row.body);
      return body;
    },
  };
}

const orUndefined = (value: unknown): string | undefined => (value === null ? undefined : (value as string));
