// console store: what happens in an organization all day, as events of the log.
// In: a device, its person, a service. Out: event drafts with everything that real ones have.
import type { EventSeverity } from '../../management/contract.ts';
import type { DeviceRow } from './devices.ts';
import type { EnduserRow } from './endusers.ts';
import type { EventDraft, EventMembers } from './events.ts';
import { eventService, type ServiceRow } from './services.ts';

export interface Client {
  user_agent: string;
  ip_address: string;
}

/** Where the event names its service: in `service`, or only as the link's destination. */
export type ServicePlace = 'service' | 'link';

export function accessEvent(
  device: DeviceRow,
  user: EnduserRow | undefined,
  service: ServiceRow,
  isAuthorized: boolean,
  place: ServicePlace,
  client: Client,
): EventDraft {
  const link = { source: {}, destination: { service_name: service.name, container_id: service.service_id } };
  const members: EventMembers = {
    link: JSON.stringify(link),
    policy: JSON.stringify({ name: 'default-access', enforced: true }),
    role: JSON.stringify(user ? JSON.parse(user.roles) : []),
  };
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

/** The service itself fails: its backend cannot be reached. No device and no person causes it. */
export function serviceErrorEvent(service: ServiceRow): EventDraft {
  return {
    type: 'Access',
    subType: 'Resource',
    action: 'Unauthorized',
    severity: 'ERROR',
    message: `${service.name}: the backend cannot be reached`,
    service: eventService(service),
    members: {
      workload_principal: JSON.stringify({
        workload_set: { container_id: service.service_id, app_name: service.name },
      }),
    },
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
