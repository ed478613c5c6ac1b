// harness: the world's states as the Management API tells them. In: a state. Out: a record with the API's own field names.
import type { Facts } from '../../src/domain/facts.ts';
import { BUNDLE, type DeviceState, type ServiceState, type UserState, type Version, type WorldEvent } from './world.ts';

/** Who has it as the users' own records say: whose mapping was deleted owns it no more. */
export function ownersOf({ serial, owner }: DeviceState, users: readonly UserState[]): string[] {
  return users.some(({ email, serials }) => email === owner && serials.includes(serial)) ? [owner] : [];
}

export function deviceRecord(device: DeviceState, users: readonly UserState[]): Facts {
  const { id, serial, banned, trouble } = device;
  return {
    DeviceID: id,
    SerialNumber: serial,
    DeviceFriendlyName: id,
    Model: 'M1',
    Platform: 'macOS',
    Ownership: 'Corporate Dedicated',
    Architecture: 'arm64',
    Banned: banned,
    Emails: ownersOf(device, users),
    MdmData: Object.fromEntries(Object.entries(trouble).filter(([, value]) => value !== undefined)) as Facts,
  };
}

export function serviceRecord({ id, enabled }: ServiceState): Facts {
  return { ServiceID: id, ServiceName: id, Enabled: enabled };
}

export function userRecord({ email, serials, leaver }: UserState): Facts {
  const record: Facts = { Email: email, Name: email, SerialNumbers: [...serials] };
  return leaver === undefined ? record : { ...record, Leaver: leaver };
}

export function bundleRecord({ services }: Version): { id: string; service_ids: string[] } {
  return { id: BUNDLE, service_ids: services.filter(({ bundled }) => bundled === 'TRUE').map(({ id }) => id) };
}

export function eventRecord({ id, atMs, service }: WorldEvent): Facts {
  return {
    id,
    created_at: atMs,
    severity: 'ERROR',
    type: 'Access',
    sub_type: 'Connection',
    action: 'Unauthorized',
    result: '',
    service: { id: service, name: service },
  };
}
