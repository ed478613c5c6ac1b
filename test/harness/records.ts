// harness: the world's states in the form of the Management API. In: a state. Out: a record with the API's own field
// names.
import { type Facts, isFacts } from '../../src/domain/facts.ts';
import type { ServiceSpecFacts } from '../../src/domain/ports.ts';
import type { Named, WorldEvent } from './event-log.ts';
import { BUNDLE, type DeviceState, type ServiceState, type UserState, type Verb, type Version } from './world.ts';

/** Who has it as the users' own records say: whose mapping was deleted owns it no more. */
export function ownersOf({ serial, owner }: DeviceState, users: readonly UserState[]): string[] {
  return users.some(({ email, serials }) => email === owner && serials.includes(serial)) ? [owner] : [];
}

export function deviceRecord(device: DeviceState, users: readonly UserState[]): Facts {
  const { id, serial, banned, trouble, reportedMs = BEFORE_ALL_MS } = device;
  const told = Object.fromEntries(Object.entries(trouble).filter(([, value]) => value !== undefined)) as Facts;
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
    MdmData: { ...told, Timestamp: reportedMs },
  };
}

const BEFORE_ALL_MS = 1_000_000_000_000;

/** The spec is JSON as text inside the record. */
export function serviceRecord({ id, enabled, tls, trouble }: ServiceState): Facts {
  const spec: ServiceSpecFacts = {
    metadata: { name: id, cluster: CLUSTER },
    spec: { backend: { tls: tls === 'TRUE' } },
  };
  const told = Object.fromEntries(Object.entries(trouble).filter(([, value]) => value !== undefined)) as Facts;
  const names = { ServiceID: id, ServiceName: id, ClusterName: CLUSTER };
  return { ...names, Enabled: enabled, ...told, ServiceSpec: JSON.stringify(spec) };
}

const CLUSTER = 'main';

/** What writing a spec does to the service that it names. */
export function verbOfSpec({ spec }: ServiceSpecFacts): Verb {
  const backend = isFacts(spec) ? spec.backend : undefined;
  return isFacts(backend) && backend.tls === true ? 'tighten' : 'loosen';
}

export function userRecord({ email, serials, leaver }: UserState): Facts {
  const record: Facts = { Email: email, Name: email, SerialNumbers: [...serials] };
  return leaver === undefined ? record : { ...record, Leaver: leaver };
}

export function bundleRecord({ services }: Version): { id: string; service_ids: string[] } {
  return { id: BUNDLE, service_ids: services.filter(({ bundled }) => bundled === 'TRUE').map(({ id }) => id) };
}

export function eventRecord({ id, atMs, isError, service, device, email }: WorldEvent): Facts {
  return {
    id,
    created_at: atMs,
    severity: isError ? 'ERROR' : 'INFO',
    type: 'Access',
    sub_type: 'Connection',
    action: isError ? 'Unauthorized' : 'Changed',
    result: '',
    ...(service !== undefined && { service: { id: service, name: service } }),
    ...((device ?? email) !== undefined && { user_principal: principalOf({ device, email }) }),
  };
}

function principalOf({ device, email }: Named): Facts {
  return {
    ...(device && { device: { id: device.id ?? '', serial_number: device.serial ?? '' } }),
    ...(email !== undefined && { user: { email } }),
  };
}
