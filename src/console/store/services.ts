// console store: registered services: list, create or update, delete, enable and disable.
// In: a checked spec and its text, or a ServiceID. Out: records as JSON text; changed rows with events, effects and
// notifications, in one transaction.
import { AppError } from '../../domain/errors.ts';
import { type EventSeverity, flagOf, type ServiceSpec } from '../../platform/contract.ts';
import { writeEffect } from './device-changes.ts';
import type { DeviceRow, EnduserRow } from './devices.ts';
import {
  type Client,
  type EventDraft,
  type EventMembers,
  filledBlocks,
  policyOf,
  rolesOf,
  writeEvent,
} from './events.ts';
import { type Actor, type ConsoleStore, newUuid, nowNs } from './store.ts';

const FRIENDLY_NAME = "iif(friendly_name = '', name, friendly_name)";
const RECORD = `'ServiceID', service_id, 'ServiceName', name, 'FriendlyName', ${FRIENDLY_NAME}, 'ClusterName', cluster, 'ServiceType', type,
  'ServiceDiscovery', discovery, 'ServiceVersion', version, 'Description', description, 'CreatedAt', created_at,
  'LastUpdatedAt', updated_at, 'DeletedAt', deleted_at, 'CreatedBy', created_by, 'LastUpdatedBy', updated_by,
  'DeletedBy', deleted_by, 'External', external, 'OIDCEnabled', oidc_enabled`;
const REST = `'ServiceSpec', spec, 'UserFacing', user_facing, 'Protocol', protocol, 'Domain', domain, 'Port', port,
  'Enabled', enabled`;
const LISTED = `json_object(${RECORD}, 'OIDCClientSpec', oidc_client, ${REST})`;
/** Create and update return more: IsDefault, and two more keys of the OIDC client (`|| ''` makes it text again). */
const CREATED = `json_object(${RECORD}, 'OIDCClientSpec', iif(oidc_client = '', '', json_set(oidc_client,
  '$.trust_callbacks', json_object('default', json_extract(oidc_client, '$.trust_cb')),
  '$.disallow_async_auth_redirect', json('false')) || ''), ${REST}, 'IsDefault', json('false'))`;

interface ServiceFilter {
  ServiceID?: string | undefined;
  ServiceName?: string | undefined;
  FriendlyName?: string | undefined;
  DefaultServices?: boolean | undefined;
}

/** All living services that match, in the order of their creation. None of them is a default service. */
export function listServices(store: ConsoleStore, filter: ServiceFilter): string[] {
  if (filter.DefaultServices) return [];
  return store.sql.values<string>(
    `SELECT ${LISTED} FROM service WHERE deleted_at = 0 AND service_id = coalesce(?, service_id)
      AND name = coalesce(?, name)
      AND coalesce(?, name) IN (name, description, ${FRIENDLY_NAME}) ORDER BY pk`,
    filter.ServiceID ?? null,
    filter.ServiceName ?? null,
    filter.FriendlyName ?? null,
  );
}

export function hasService(store: ConsoleStore, serviceId: string): boolean {
  return serviceOf(store, serviceId) !== undefined;
}

export interface ServiceRow {
  pk: number;
  service_id: string;
  name: string;
  type: string;
  version: number;
  enabled: string;
  domain: string;
  port: number;
  protocol: string;
}

const ROW = 'pk, service_id, name, type, version, enabled, domain, port, protocol';

export function serviceOf(store: ConsoleStore, serviceId: string): ServiceRow | undefined {
  return store.sql.get<ServiceRow>(`SELECT ${ROW} FROM service WHERE service_id = ? AND deleted_at = 0`, serviceId);
}

export function livingServices(store: ConsoleStore): ServiceRow[] {
  return store.sql.all<ServiceRow>(`SELECT ${ROW} FROM service WHERE deleted_at = 0 ORDER BY pk`);
}

/**
 * Creates the service, or updates the one of this name in this cluster. Returns the whole record as JSON text. AppError
 * `usage` when another service has the same ServiceID.
 */
export function insertService(store: ConsoleStore, actor: Actor, spec: ServiceSpec, specText: string): string {
  return store.sql.atomically(() => {
    const { name, cluster } = spec.metadata;
    const existing = store.sql.get<ServiceRow>(
      `SELECT ${ROW} FROM service WHERE name = ? AND cluster = ? AND deleted_at = 0`,
      name,
      cluster,
    );
    const pk = existing?.pk ?? addService(store, actor, spec, specText);
    if (existing) {
      const changed = { version: existing.version + 1, updated_at: nowNs(store), updated_by: actor.name };
      store.sql.update('service', pk, { ...columnsOf(spec, specText), ...changed });
    }
    const isUpdate = existing !== undefined;
    const row = store.sql.get<ServiceRow>(`SELECT ${ROW} FROM service WHERE pk = ?`, pk) as ServiceRow;
    writeAudit(store, actor, row, isUpdate ? 'Update' : 'Create');
    writeEffect(store, actor, isUpdate ? 'service_updated' : 'service_created', row.service_id, {
      version: row.version,
    });
    return store.sql.value<string>(`SELECT ${CREATED} FROM service WHERE pk = ?`, pk) as string;
  });
}

function addService(store: ConsoleStore, actor: Actor, spec: ServiceSpec, specText: string): number {
  const { name, cluster } = spec.metadata;
  const serviceId = `${name}.${cluster}.${store.serviceSuffix}`;
  refuseTakenId(store, serviceId);
  const [by, at] = [actor.name, nowNs(store)];
  const written = columnsOf(spec, specText);
  return store.sql.insert('service', {
    ...{ service_id: serviceId, name, cluster, discovery: '', version: 1, external: '', enabled: 'TRUE' },
    ...{ created_at: at, created_by: by, updated_at: at, updated_by: by, deleted_at: 0, deleted_by: '' },
    ...written,
    oidc_client: oidcClient(store, written.domain),
  });
}

/** Names and clusters may have dots: `a.b` in `c` and `a` in `b.c` would have one ServiceID. */
function refuseTakenId(store: ConsoleStore, serviceId: string): void {
  if (!hasService(store, serviceId)) return;
  throw new AppError(
    'usage',
    `\`metadata.name\` and \`metadata.cluster\` make the ServiceID \`${serviceId}\`, which another service has`,
  );
}

/** The spec, and what the record repeats of it: `metadata.tags`, or the older places beside them. */
function columnsOf(spec: ServiceSpec, specText: string) {
  const { metadata } = spec;
  const tags = metadata.tags ?? {};
  return {
    type: spec.type || 'user-defined',
    description: metadata.description ?? '',
    friendly_name: metadata.friendly_name ?? '',
    user_facing: flagOf((tags.user_facing ?? metadata.user_facing ?? '').toLowerCase() === 'true'),
    protocol: tags.protocol ?? metadata.protocol ?? '',
    domain: tags.domain ?? metadata.domain ?? '',
    port: portOf(String(tags.port ?? metadata.port ?? '')),
    spec: specText,
    oidc_enabled: spec.spec?.http_settings?.oidc_settings?.enabled ? 'TRUE' : 'FALSE',
  };
}

/** The number that a free text is; 0 when it is none. */
function portOf(text: string): number {
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : 0;
}

function oidcClient(store: ConsoleStore, domain: string): string {
  return JSON.stringify({
    trust_auth: `https://trust.${store.org.name}.example/auth`,
    trust_cb: `https://${domain || 'localhost'}/callback`,
    client_id: newUuid(store, 'oidc-client'),
    client_secret: newUuid(store, 'oidc-secret').replaceAll('-', ''),
  });
}

/** Takes the service from the list, and from its bundles; its record stays with DeletedAt and DeletedBy. */
export function deleteService(store: ConsoleStore, actor: Actor, serviceId: string): 'deleted' | 'no_such_service' {
  return store.sql.atomically(() => {
    const row = serviceOf(store, serviceId);
    if (!row) return 'no_such_service';
    store.sql.run(
      "UPDATE service SET deleted_at = ?, deleted_by = ?, enabled = 'FALSE' WHERE pk = ?",
      nowNs(store),
      actor.name,
      row.pk,
    );
    store.sql.run('DELETE FROM bundled_service WHERE service_id = ?', serviceId);
    store.sql.run('DELETE FROM policy_attachment WHERE service_id = ?', serviceId);
    writeAudit(store, actor, row, 'Delete');
    writeEffect(store, actor, 'service_deleted', serviceId);
    return 'deleted';
  });
}

type SwitchResult = 'switched' | 'already_so' | 'no_such_service';

/** Enables or disables; a change is notified to every enforcement agent, a repetition changes and notifies nothing. */
export function switchService(
  store: ConsoleStore,
  actor: Actor,
  serviceId: string,
  enabled: 'TRUE' | 'FALSE',
): SwitchResult {
  return store.sql.atomically(() => {
    const row = serviceOf(store, serviceId);
    if (!row) return 'no_such_service';
    if (row.enabled === enabled) return 'already_so';
    const isOn = enabled === 'TRUE';
    store.sql.run(
      'UPDATE service SET enabled = ?, updated_at = ?, updated_by = ? WHERE pk = ?',
      enabled,
      nowNs(store),
      actor.name,
      row.pk,
    );
    store.sql.run(
      'INSERT INTO notification (agent, created_at, service_id, enabled) SELECT name, ?, ?, ? FROM agent ORDER BY name',
      Math.floor(store.clock.nowMs()),
      serviceId,
      enabled,
    );
    writeAudit(store, actor, row, isOn ? 'Enable' : 'Disable');
    writeEffect(store, actor, isOn ? 'service_enabled' : 'service_disabled', serviceId);
    return 'switched';
  });
}

function writeAudit(store: ConsoleStore, actor: Actor, row: ServiceRow, action: string): void {
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Resource',
    action,
    severity: action === 'Delete' || action === 'Disable' ? 'WARN' : 'INFO',
    message: `Service ${row.name}: ${action.toLowerCase()} by ${actor.name}`,
    service: row,
  });
}

interface Notification {
  seq: number;
  agent: string;
  /** Epoch ms. */
  created_at: number;
  service_id: string;
  enabled: string;
}

/** What was sent to the enforcement agents, the newest last. */
export function readNotifications(store: ConsoleStore, afterSeq: number, limit: number): Notification[] {
  return store.sql.all<Notification>('SELECT * FROM notification WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit);
}

const NOTIFICATIONS_KEPT_MAX = 100_000;

/** Deletes the oldest notifications of a console that has run for long. */
export function pruneNotifications(store: ConsoleStore): void {
  store.sql.run(
    'DELETE FROM notification WHERE seq <= (SELECT max(seq) FROM notification) - ?',
    NOTIFICATIONS_KEPT_MAX,
  );
}

// What happens in an organization all day, as events of the log.

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
const DEFAULT_POLICY = 'default-access';

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
