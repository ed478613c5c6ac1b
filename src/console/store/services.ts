// console store: registered services: list, create or update, delete, enable and disable.
// In: a checked spec and its text, or a ServiceID. Out: records as JSON text; changed rows with events, effects and
// notifications, in one transaction.
import { AppError } from '../../domain/errors.ts';
import { flagOf, type ServiceSpec } from '../../management/contract.ts';
import { writeEffect } from './effects.ts';
import { writeEvent } from './events.ts';
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

export interface ServiceFilter {
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
    const pk = existing
      ? updateService(store, actor, existing, spec, specText)
      : addService(store, actor, spec, specText);
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
  const now = nowNs(store);
  const mirrored = mirrorOf(spec);
  return store.sql.value<number>(
    `INSERT INTO service (service_id, name, cluster, type, discovery, version, description, created_at, created_by,
      updated_at, updated_by, deleted_at, deleted_by, external, oidc_enabled, oidc_client, spec, user_facing, protocol,
      domain, port, friendly_name, enabled)
      VALUES (?, ?, ?, ?, '', 1, ?, ?, ?, ?, ?, 0, '', '', ?, ?, ?, ?, ?, ?, ?, ?, 'TRUE') RETURNING pk`,
    serviceId,
    name,
    cluster,
    mirrored.type,
    mirrored.description,
    now,
    actor.name,
    now,
    actor.name,
    mirrored.oidcEnabled,
    oidcClient(store, mirrored.domain),
    specText,
    mirrored.userFacing,
    mirrored.protocol,
    mirrored.domain,
    mirrored.port,
    mirrored.friendlyName,
  ) as number;
}

/** Names and clusters may have dots: `a.b` in `c` and `a` in `b.c` would have one ServiceID. */
function refuseTakenId(store: ConsoleStore, serviceId: string): void {
  if (!hasService(store, serviceId)) return;
  throw new AppError(
    'usage',
    `\`metadata.name\` and \`metadata.cluster\` make the ServiceID \`${serviceId}\`, which another service has`,
  );
}

function updateService(
  store: ConsoleStore,
  actor: Actor,
  existing: ServiceRow,
  spec: ServiceSpec,
  specText: string,
): number {
  const mirrored = mirrorOf(spec);
  store.sql.run(
    `UPDATE service SET version = version + 1, type = ?, description = ?, updated_at = ?, updated_by = ?, oidc_enabled = ?,
      spec = ?, user_facing = ?, protocol = ?, domain = ?, port = ?, friendly_name = ? WHERE pk = ?`,
    mirrored.type,
    mirrored.description,
    nowNs(store),
    actor.name,
    mirrored.oidcEnabled,
    specText,
    mirrored.userFacing,
    mirrored.protocol,
    mirrored.domain,
    mirrored.port,
    mirrored.friendlyName,
    existing.pk,
  );
  return existing.pk;
}

/** What the record repeats of the spec: `metadata.tags`, or the older places beside them. */
function mirrorOf(spec: ServiceSpec) {
  const { metadata } = spec;
  const tags = metadata.tags ?? {};
  return {
    type: spec.type || 'user-defined',
    description: metadata.description ?? '',
    friendlyName: metadata.friendly_name ?? '',
    userFacing: flagOf((tags.user_facing ?? metadata.user_facing ?? '').toLowerCase() === 'true'),
    protocol: tags.protocol ?? metadata.protocol ?? '',
    domain: tags.domain ?? metadata.domain ?? '',
    port: portOf(String(tags.port ?? metadata.port ?? '')),
    oidcEnabled: spec.spec?.http_settings?.oidc_settings?.enabled ? 'TRUE' : 'FALSE',
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

export type SwitchResult = 'switched' | 'already_so' | 'no_such_service';

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

export interface Notification {
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
