// store: one stored event of the log ↔ its row. The event is stored unchanged, as canonical JSON text.
import { canonicalJson } from '../domain/canonical.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Row } from './database.ts';
import { storedJson } from './stored-json.ts';

const orNull = (value: string | undefined): string | null => value ?? null;
const orUndefined = (value: unknown): string | undefined => (value === null ? undefined : (value as string));

export function rowOfEvent(event: TrustEvent): Row {
  return {
    id: event.id,
    created_at: event.createdAtMs,
    device_id: orNull(event.deviceId),
    serial_number: orNull(event.serialNumber),
    email: orNull(event.email),
    service_id: orNull(event.serviceId),
    service_name: orNull(event.serviceName),
    type: event.type,
    sub_type: event.subType,
    action: event.action,
    severity: event.severity,
    result: event.result,
    body: canonicalJson(event.body),
  };
}

export function eventOfRow(row: Row): TrustEvent {
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
    body: storedJson<TrustEvent['body']>(row.body),
  };
}
