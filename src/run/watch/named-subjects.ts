// run: whom events name. In: new events, the kinds of subjects that watched rules judge. Out: each named subject once, by the names that it
// was given. Names come from outside: nothing is believed of them before a record with that name was read. Pure.
import type { TrustEvent } from '../../domain/event.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

/** A serial number, and the DeviceIDs that came with it: one of them must be among its devices, unless it also came alone. */
export interface NamedSerial {
  ids: Set<string>;
  isAlone: boolean;
}

export interface NamedSubjects {
  serials: Map<string, NamedSerial>;
  /** DeviceIDs without a serial number. */
  deviceIds: Set<string>;
  /** In lower case. */
  emails: Set<string>;
  serviceIds: Set<string>;
  /** Of services without an id. */
  serviceNames: Set<string>;
}

export function namedSubjects(events: readonly TrustEvent[], kinds: ReadonlySet<SubjectKind>): NamedSubjects {
  const named: NamedSubjects = {
    serials: new Map(),
    deviceIds: new Set(),
    emails: new Set(),
    serviceIds: new Set(),
    serviceNames: new Set(),
  };
  for (const event of events) {
    if (kinds.has('device')) nameDevice(named, event);
    if (kinds.has('user') && event.email !== undefined) named.emails.add(event.email);
    if (kinds.has('service')) nameService(named, event);
  }
  return named;
}

function nameDevice(named: NamedSubjects, { serialNumber, deviceId }: TrustEvent): void {
  if (serialNumber === undefined) {
    if (deviceId !== undefined) named.deviceIds.add(deviceId);
    return;
  }
  const serial = named.serials.get(serialNumber) ?? { ids: new Set(), isAlone: false };
  named.serials.set(serialNumber, serial);
  if (deviceId === undefined) serial.isAlone = true;
  else serial.ids.add(deviceId);
}

function nameService(named: NamedSubjects, { serviceId, serviceName }: TrustEvent): void {
  if (serviceId !== undefined) named.serviceIds.add(serviceId);
  else if (serviceName !== undefined) named.serviceNames.add(serviceName);
}

export function countOf({ serials, deviceIds, emails, serviceIds, serviceNames }: NamedSubjects): number {
  return serials.size + deviceIds.size + emails.size + serviceIds.size + serviceNames.size;
}
