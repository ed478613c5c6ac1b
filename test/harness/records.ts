// harness: the world's states as the Management API tells them. In: a state. Out: a record with the API's own field names.
import type { Facts } from '../../src/domain/facts.ts';
import { BUNDLE, type DeviceState, type ServiceState, type UserState, type Version, type WorldEvent } from './world.ts';

export function deviceRecord({ id, serial, owner, banned, trouble }: DeviceState): Facts {
  return {
    DeviceID: id,
    SerialNumber: serial,
    DeviceFriendlyName: id,
    Model: 'M1',
    Platform: 'macOS',
    Ownership: 'Corporate Dedicated',
    Architecture: 'arm64',
    Banned: banned,
    Emails: [owner],
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
