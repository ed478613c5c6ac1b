// console store: what happens in an organization all day, as events of the log.
// In: a device, its person, a service. Out: event drafts with everything that real ones have.
import type { EventSeverity } from '../../management/contract.ts';
import type { DeviceRow } from './devices.ts';
import type { EnduserRow } from './endusers.ts';
import { linkOf, policyOf, rolesOf } from './event-blocks.ts';
import type { EventDraft, EventMembers } from './events.ts';
import { eventService, type ServiceRow } from './services.ts';
import type { ConsoleStore } from './store.ts';

export interface Client {
  user_agent: string;
  ip_address: string;
}

/** Where the event names its service: in `service`, or only as the link's destination. */
export type ServicePlace = 'service' | 'link';

export function accessEvent(
  store: ConsoleStore,
  device: DeviceRow,
  user: EnduserRow | undefined,
  service: ServiceRow,
  isAuthorized: boolean,
  place: ServicePlace,
  client: Client,
): EventDraft {
  const members = accessMembers(store, service, user, { host_name: device.friendly_name, ip: client.ip_address });
  return {
    type: 'Access',
    subType: 'Connection',
    action: isAuthorized ? 'Authorized' : 'Unauthorized',
    severity: isAuthorized ? 'INFO' : 'ERROR',
    message: isAuthorized
      ? `Access to ${service.name} was granted`
      : `Access to ${service.name} was denied: the policy does not permit it`,
    devicePk: device.pk,
    user,
    client,
    ...(place === 'service' ? { service: eventService(service) } : {}),
    keys: { serviceName: service.name, containerId: service.service_id },
    members,
  };
}

function accessMembers(
  store: ConsoleStore,
  service: ServiceRow,
  user: EnduserRow | undefined,
  source: { host_name?: string; ip?: string },
): EventMembers {
  const administrator = `admin@${store.org.name}.example`;
  const destination = {
    service_id: service.service_id,
    service_name: service.name,
    container_id: service.service_id,
    container_name: service.name,
  };
  const roles = user ? (JSON.parse(user.roles) as string[]) : [];
  return {
    link: JSON.stringify(linkOf(source, destination)),
    policy: JSON.stringify(policyOf('default-access', store.org.id, administrator)),
    role: JSON.stringify(rolesOf(roles, store.org.id, administrator)),
  };
}

/** What the agent before a service reports of it: it was reached, or its backend cannot be. No device and no person causes it. */
export function resourceEvent(store: ConsoleStore, service: ServiceRow, isReached: boolean): EventDraft {
  const workloads = { container_id: service.service_id, app_name: service.name };
  return {
    type: 'Access',
    subType: 'Resource',
    action: isReached ? 'Authorized' : 'Unauthorized',
    severity: isReached ? 'INFO' : 'ERROR',
    message: isReached ? `${service.name}: the backend was reached` : `${service.name}: the backend cannot be reached`,
    service: eventService(service),
    members: {
      ...accessMembers(store, service, undefined, {}),
      workload_principal: JSON.stringify({ workload_set: workloads }),
    },
  };
}

/** A device registers or unregisters, or fails to. */
export function registrationEvent(
  device: DeviceRow,
  user: EnduserRow | undefined,
  action: 'Register' | 'Register Failed' | 'Unregister',
  client?: Client,
): EventDraft {
  const owner = user ? ` of ${user.email}` : '';
  const words = {
    Register: 'was registered',
    'Register Failed': 'could not be registered',
    Unregister: 'was unregistered',
  };
  return {
    type: 'Registration',
    subType: 'Device',
    action,
    severity: { Register: 'INFO', 'Register Failed': 'ERROR', Unregister: 'WARN' }[action] as EventSeverity,
    message: `Device ${device.friendly_name}${owner} ${words[action]}`,
    devicePk: device.pk,
    user,
    ...(client ? { client } : {}),
  };
}

/** A login; a banned device's is denied. */
export function loginEvent(device: DeviceRow, user: EnduserRow, client: Client): EventDraft {
  const isBanned = device.banned === 'TRUE';
  return {
    type: 'Identity',
    subType: 'UserPrincipal',
    action: isBanned ? 'Deny' : 'Grant',
    severity: isBanned ? 'ERROR' : 'INFO',
    message: isBanned ? `${user.email} was denied: the device is banned` : `${user.email} logged in`,
    devicePk: device.pk,
    user,
    client,
  };
}

export function mdmEvent(device: DeviceRow): EventDraft {
  return {
    type: 'Identity',
    subType: 'UserPrincipal',
    action: 'MDM',
    severity: 'DEBUG',
    message: `${device.mdm_source || 'MDM'} reported on ${device.friendly_name}`,
    devicePk: device.pk,
  };
}

/** `score` is the new one; `atNs` when it was found. */
export function trustEvent(
  device: DeviceRow,
  score: number,
  atNs: bigint,
  severity: EventSeverity = 'INFO',
): EventDraft {
  return {
    type: 'TrustScoring',
    subType: 'Device',
    action: 'TrustScoreCalculate',
    severity,
    message: `The trust score of ${device.friendly_name} is ${score}`,
    devicePk: device.pk,
    members: {
      trustscore: `{"id":${JSON.stringify(device.device_id)},"type":"device","timestamp":${atNs},"score":${score}}`,
    },
  };
}
