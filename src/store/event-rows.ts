// store: one stored event of the log ↔ its row. In: an event. Out: the values of a row, the body as JSON text; and the event again, whose
// body is parsed when it is first read: filling the windows of a fresh process reads most events without it.
import { canonicalJson } from '../domain/canonical.ts';
import type { TrustEvent } from '../domain/event.ts';
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
export function eventOfRow(row: readonly unknown[]): TrustEvent {
  const [id, createdAt, device, serial, email, service, name, type, subType, action, severity, result, text] = row;
  let body: TrustEvent['body'] | undefined;
  return {
    id: id as string,
    createdAtMs: createdAt as number,
    deviceId: orUndefined(device),
    serialNumber: orUndefined(serial),
    email: orUndefined(email),
    serviceId: orUndefined(service),
    serviceName: orUndefined(name),
    type: type as string,
    subType: subType as string,
    action: action as string,
    severity: severity as string,
    result: result as string,
    get body() {
      body ??= storedJson<TrustEvent['body']>(text);
      return body;
    },
  };
}

const orUndefined = (value: unknown): string | undefined => (value === null ? undefined : (value as string));
