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

export function eventOfRow(row: readonly unknown[]): TrustEvent {
  return new StoredEvent(row);
}

class StoredEvent implements TrustEvent {
  readonly id: string;
  readonly createdAtMs: number;
  readonly deviceId: string | undefined;
  readonly serialNumber: string | undefined;
  readonly email: string | undefined;
  readonly serviceId: string | undefined;
  readonly serviceName: string | undefined;
  readonly type: string;
  readonly subType: string;
  readonly action: string;
  readonly severity: string;
  readonly result: string;
  private readonly text: unknown;
  private parsed: TrustEvent['body'] | undefined;

  constructor(row: readonly unknown[]) {
    const [id, createdAt, device, serial, email, service, name, type, subType, action, severity, result, body] = row;
    this.id = id as string;
    this.createdAtMs = createdAt as number;
    this.deviceId = orUndefined(device);
    this.serialNumber = orUndefined(serial);
    this.email = orUndefined(email);
    this.serviceId = orUndefined(service);
    this.serviceName = orUndefined(name);
    this.type = type as string;
    this.subType = subType as string;
    this.action = action as string;
    this.severity = severity as string;
    this.result = result as string;
    this.text = body;
  }

  /** Errors: AppError `store_damaged`. */
  get body(): TrustEvent['body'] {
    this.parsed ??= storedJson<TrustEvent['body']>(this.text);
    return this.parsed;
  }
}

const orUndefined = (value: unknown): string | undefined => (value === null ? undefined : (value as string));
