// console store: what happens in an organization all day, as events of the log.
// In: a device, its person, a service. Out: event drafts with everything that real ones have.
import type { EventSeverity } from '../../management/contract.ts';
import type { DeviceRow } from './devices.ts';
import type { EnduserRow } from './endusers.ts';
import { filledBlocks, policyOf, rolesOf } from './event-blocks.ts';
import type { Client, EventDraft, EventMembers } from './events.ts';
import type { ServiceRow } from './services.ts';
import { type ConsoleStore, newUuid } from './store.ts';

export function accessEvent(
  store: ConsoleStore,
  device: DeviceRow,
  user: EnduserRow | undefined,
  service: ServiceRow,
  isAuthorized: boolean,
  client: Client,
): EventDraft {
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
    service,
    members: accessMembers(store, service, 'connection', { device, user, client }),
  };
}

/** What reaches a service: a device with its person and program, or nobody. */
interface Caller {
  device?: DeviceRow;
  user?: EnduserRow | undefined;
  client?: Client;
}

function accessMembers(
  store: ConsoleStore,
  service: ServiceRow,
  resource: 'connection' | 'l7resource',
  { device, user, client }: Caller,
): EventMembers {
  const { service_id: id, name, version, domain, port, protocol } = service;
  const destination = {
    container_id: id,
    container_name: name,
    service_id: id,
    service_name: id,
    service_version: String(version),
    host_name: domain === '' || port === 0 ? '' : `${domain}:${port}`,
    port: port === 0 ? '' : String(port),
  };
  const channel = {
    access_level: { resource },
    sni_data: { name_requested: domain, name_matched: domain },
    request_data: { protocol },
  };
  const blocks = filledBlocks({ link: { source: { ip: client?.ip_address ?? '' }, destination }, channel });
  return {
    ...judged(store, user),
    link: JSON.stringify(blocks.link),
    channel: JSON.stringify(blocks.channel),
    trustscore: scoreOf(device),
  };
}

/** By which policy and roles somebody is let in, or is not. */
function judged(store: ConsoleStore, user: EnduserRow | undefined): EventMembers {
  const administrator = `admin@${store.org.name}.example`;
  const roles = user ? (JSON.parse(user.roles) as string[]) : [];
  return {
    policy: JSON.stringify(policyOf(DEFAULT_POLICY, store.org.id, administrator)),
    role: JSON.stringify(rolesOf(roles, store.org.id, administrator)),
  };
}

/** The name of the policy that a made-up organization attaches to its services. */
export const DEFAULT_POLICY = 'default-access';

/** A score as JSON text: its time has 19 digits. */
function scoreOf(device: DeviceRow | undefined): string {
  if (!device) return JSON.stringify(filledBlocks({ trustscore: {} }).trustscore);
  const { device_id: id, scored_at_ns: atNs, trust_access: score, trust_level: level } = device;
  return scoreText(id, atNs, score, level);
}

function scoreText(deviceId: string, atNs: string | bigint, score: number, level: string): string {
  const rest = JSON.stringify({ score, trust_level: level, trust_profile_name: '', passed_factors: [] });
  return `{"id":${JSON.stringify(deviceId)},"type":"device","timestamp":${atNs},${rest.slice(1)}`;
}

/** What the agent before a service reports of it: it was reached, or its backend cannot be: nobody causes that. */
export function resourceEvent(
  store: ConsoleStore,
  service: ServiceRow,
  isReached: boolean,
  caller: Caller = {},
): EventDraft {
  const { device, user, client } = caller;
  const workloads = { container_id: service.service_id, container_name: service.name, app_name: service.name };
  const { workload_principal } = filledBlocks({ workload_principal: { workload_set: workloads } });
  return {
    type: 'Access',
    subType: 'Resource',
    action: isReached ? 'Authorized' : 'Unauthorized',
    severity: isReached ? 'INFO' : 'ERROR',
    message: isReached ? `${service.name}: the backend was reached` : `${service.name}: the backend cannot be reached`,
    ...(device ? { devicePk: device.pk, user } : {}),
    ...(client ? { client } : {}),
    service,
    members: {
      ...accessMembers(store, service, 'l7resource', caller),
      workload_principal: JSON.stringify(workload_principal),
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
export function loginEvent(store: ConsoleStore, device: DeviceRow, user: EnduserRow, client: Client): EventDraft {
  const isBanned = device.banned === 'TRUE';
  return {
    type: 'Identity',
    subType: 'UserPrincipal',
    action: isBanned ? 'Deny' : 'Grant',
    severity: isBanned ? 'ERROR' : 'INFO',
    message: isBanned ? `${user.email} was denied: the device is banned` : `${user.email} logged in`,
    externalId: newUuid(store, 'login'),
    devicePk: device.pk,
    user,
    client,
    members: { ...judged(store, user), ...(isBanned ? {} : { trustscore: scoreOf(device) }) },
  };
}

export function mdmEvent(store: ConsoleStore, device: DeviceRow): EventDraft {
  return {
    type: 'Identity',
    subType: 'UserPrincipal',
    action: 'MDM',
    severity: 'DEBUG',
    message: `${device.mdm_source || 'MDM'} reported on ${device.friendly_name}`,
    externalId: newUuid(store, 'mdm-report'),
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
    members: { trustscore: scoreText(device.device_id, atNs, score, device.trust_level) },
  };
}
