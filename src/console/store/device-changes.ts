// console store: banning, updating and deleting devices, by serial number. In: what to change and who requests it. Out:
// changed rows, their events and effects, in one transaction. No change is partial.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyScope } from '../../platform/contract.ts';
import {
  type DeviceRow,
  deviceOfId,
  devicesOfSerial,
  type EnduserRow,
  enduserOfEmail,
  ownersOfDevice,
} from './devices.ts';
import { writeEvent } from './events.ts';
import { type Actor, type ConsoleStore, newUuid, nowNs, uuidFrom } from './store.ts';

// Adding devices, people and registrations, for seeding and for direct changes.

interface SqlTypes {
  text: string;
  /** JSON array. */
  list: string;
  number: number;
  /** Nanoseconds. */
  time: bigint;
}

type RowOf<Columns extends Record<string, keyof SqlTypes>> = {
  -readonly [Name in keyof Columns]: SqlTypes[Columns[Name]];
};

const TRUST = {
  trust_entity: 'number',
  trust_override: 'number',
  trust_access: 'number',
  override_active: 'text',
  trust_level: 'text',
  trust_updated: 'time',
  factors: 'list',
} as const;

const DEVICE = {
  device_id: 'text',
  serial: 'text',
  friendly_name: 'text',
  ownership: 'text',
  platform: 'text',
  model: 'text',
  architecture: 'text',
  registered: 'text',
  banned: 'text',
  os: 'text',
  app_version: 'text',
  roles: 'list',
  last_login: 'time',
  login_count: 'number',
  created_at: 'time',
  mdm_timestamp: 'time',
  mdm_source: 'text',
  mdm_compromised: 'text',
  mdm_compliant: 'text',
  ...TRUST,
} as const;

const ENDUSER = {
  email: 'text',
  name: 'text',
  groups: 'list',
  roles: 'list',
  last_login: 'time',
  login_count: 'number',
  created_at: 'time',
  ...TRUST,
} as const;

const DEVICE_COLUMNS = Object.keys(DEVICE) as (keyof DeviceColumns)[];
export type DeviceColumns = RowOf<typeof DEVICE>;
export type EnduserColumns = RowOf<typeof ENDUSER>;

export const insertDevice = (store: ConsoleStore, row: DeviceColumns): number => store.sql.insert('device', row);
export const insertEnduser = (store: ConsoleStore, row: EnduserColumns): number => store.sql.insert('enduser', row);

export function insertMapping(
  store: ConsoleStore,
  enduserPk: number,
  devicePk: number,
  certificate: string,
  issuedAtNs: bigint,
): void {
  store.sql.run(
    'INSERT INTO mapping VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    enduserPk,
    devicePk,
    certificate,
    issuedAtNs,
  );
}

// The true list of effects: one row for each change of state that really happened, in order.

export type EffectKind =
  | 'device_added'
  | 'device_banned'
  | 'device_unbanned'
  | 'device_updated'
  | 'device_deleted'
  | 'device_compromised'
  | 'device_recovered'
  | 'mapping_deleted'
  | 'user_added'
  | 'user_deleted'
  | 'certificate_issued'
  | 'certificate_revoked'
  | 'service_created'
  | 'service_updated'
  | 'service_deleted'
  | 'service_enabled'
  | 'service_disabled'
  | 'bundle_created'
  | 'bundle_updated'
  | 'bundle_deleted'
  | 'bundled_service_added'
  | 'bundled_service_removed'
  | 'policy_created'
  | 'policy_updated'
  | 'policy_deleted'
  | 'policy_attached'
  | 'policy_detached'
  | 'api_key_created'
  | 'api_key_updated'
  | 'api_key_deleted'
  | 'events_submitted';

export interface Effect {
  seq: number;
  /** Epoch ms. */
  atMs: number;
  kind: EffectKind;
  /** A DeviceID, Email, ServiceID, bundle id or certificate. */
  target: string;
  actor: string;
  via: Actor['via'];
  detail: { [key: string]: string | number | boolean | string[] };
}

const KEPT_MAX = 200_000;

export function writeEffect(
  store: ConsoleStore,
  actor: Actor,
  kind: EffectKind,
  target: string,
  detail: Effect['detail'] = {},
): void {
  store.sql.run(
    'INSERT INTO effect (created_at, kind, target, actor, via, detail) VALUES (?, ?, ?, ?, ?, ?)',
    Math.floor(store.clock.nowMs()),
    kind,
    target,
    actor.name,
    actor.via,
    JSON.stringify(detail),
  );
}

/** The effects after `afterSeq`, in the order in which they happened. */
export function readEffects(store: ConsoleStore, afterSeq = 0, limit = -1): Effect[] {
  const rows = store.sql.all<{
    seq: number;
    created_at: number;
    kind: EffectKind;
    target: string;
    actor: string;
    via: Actor['via'];
    detail: string;
  }>('SELECT * FROM effect WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit);
  return rows.map(({ created_at, detail, ...row }) => ({ ...row, atMs: created_at, detail: JSON.parse(detail) }));
}

/** Deletes the oldest effects of a console that has run for long. */
export function pruneEffects(store: ConsoleStore): void {
  store.sql.run('DELETE FROM effect WHERE seq <= (SELECT max(seq) FROM effect) - ?', KEPT_MAX);
}

// The client certificates that a registration gives, and their revocation.

interface CertificateRecord {
  certificate: string;
  serial: string;
  device_id: string;
  email: string;
  state: 'valid' | 'revoked';
  reason: string;
}

interface MappingRow {
  enduser_pk: number;
  certificate: string;
  email: string;
  device_id: string;
  serial: string;
}

/** Revokes the certificates of a device: one person's, or all. */
function revokeCertificates(
  store: ConsoleStore,
  actor: Actor,
  devicePk: number,
  enduserPk: number | undefined,
  reason: string,
): void {
  const rows = store.sql.all<MappingRow>(
    `SELECT m.enduser_pk, m.certificate, u.email, d.device_id, d.serial FROM mapping m
      JOIN enduser u ON u.pk = m.enduser_pk JOIN device d ON d.pk = m.device_pk
      WHERE m.device_pk = ? AND m.certificate <> '' AND (? IS NULL OR m.enduser_pk = ?)`,
    devicePk,
    enduserPk ?? null,
    enduserPk ?? null,
  );
  for (const row of rows) {
    store.sql.run(
      `INSERT INTO revoked_certificate SELECT certificate, ?, ?, ?, issued_at, ?, ? FROM mapping
        WHERE device_pk = ? AND enduser_pk = ?`,
      row.serial,
      row.device_id,
      row.email,
      nowNs(store),
      reason,
      devicePk,
      row.enduser_pk,
    );
    store.sql.run(
      "UPDATE mapping SET certificate = '' WHERE device_pk = ? AND enduser_pk = ?",
      devicePk,
      row.enduser_pk,
    );
    writeEffect(store, actor, 'certificate_revoked', row.certificate, { serial: row.serial, email: row.email, reason });
  }
}

/** A device that reports in again after its certificates were revoked gets new ones. */
export function reissueCertificates(store: ConsoleStore, actor: Actor, devicePk: number): void {
  const people = store.sql.values<number>(
    "SELECT enduser_pk FROM mapping WHERE device_pk = ? AND certificate = ''",
    devicePk,
  );
  for (const enduserPk of people) {
    const certificate = newCertificate(store);
    store.sql.run(
      'UPDATE mapping SET certificate = ?, issued_at = ? WHERE device_pk = ? AND enduser_pk = ?',
      certificate,
      nowNs(store),
      devicePk,
      enduserPk,
    );
    writeEffect(store, actor, 'certificate_issued', certificate);
  }
}

export function newCertificate(store: ConsoleStore): string {
  return newUuid(store, 'certificate').replaceAll('-', '');
}

/** All certificates, valid and revoked, of a serial number. */
export function certificatesOf(store: ConsoleStore, serial: string): CertificateRecord[] {
  return store.sql.all<CertificateRecord>(
    `SELECT m.certificate, d.serial, d.device_id, u.email, 'valid' AS state, '' AS reason FROM device d
      JOIN mapping m ON m.device_pk = d.pk JOIN enduser u ON u.pk = m.enduser_pk
      WHERE d.serial = ? AND m.certificate <> ''
      UNION ALL
      SELECT certificate, serial, device_id, email, 'revoked', reason FROM revoked_certificate WHERE serial = ?
      ORDER BY 1`,
    serial,
    serial,
  );
}

/** The fields of an update. `banned` is "TRUE" or "FALSE"; undefined leaves a field unchanged. */
export interface DevicePatch {
  banned?: 'TRUE' | 'FALSE' | undefined;
  model?: string | undefined;
  ownership?: string | undefined;
  platform?: string | undefined;
  architecture?: string | undefined;
  os?: string | undefined;
  mdm_source?: string | undefined;
  mdm_marked?: 'TRUE' | 'FALSE' | undefined;
}

/** Updates every device of the serial number; returns how many devices it has (0: unknown). */
export function updateDevices(store: ConsoleStore, actor: Actor, serial: string, patch: DevicePatch): number {
  return store.sql.atomically(() => {
    const devices = devicesOfSerial(store, serial);
    for (const device of devices) {
      describeDevice(store, actor, device, patch);
      if (patch.banned && patch.banned !== device.banned) setBanned(store, actor, device, patch.banned);
    }
    return devices.length;
  });
}

function describeDevice(store: ConsoleStore, actor: Actor, device: DeviceRow, patch: DevicePatch): void {
  const { banned: _, ...fields } = patch;
  const changed = Object.entries(fields).filter(
    ([column, value]) => value !== undefined && value !== device[column as keyof DeviceRow],
  ) as [keyof typeof fields, string][];
  if (changed.length === 0) return;
  store.sql.update('device', device.pk, Object.fromEntries(changed));
  const names = changed.map(([column]) => column);
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Device',
    action: 'Update',
    severity: 'INFO',
    message: `Device ${device.friendly_name} was updated by ${actor.name}: ${names.join(', ')}`,
    devicePk: device.pk,
  });
  writeEffect(store, actor, 'device_updated', device.device_id, { serial: device.serial, fields: names });
}

function setBanned(store: ConsoleStore, actor: Actor, device: DeviceRow, banned: 'TRUE' | 'FALSE'): void {
  store.sql.run('UPDATE device SET banned = ? WHERE pk = ?', banned, device.pk);
  const isBan = banned === 'TRUE';
  // After an unban the certificates stay revoked: the device has to report in before it regains access.
  if (isBan) revokeCertificates(store, actor, device.pk, undefined, 'banned');
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Device',
    action: isBan ? 'Ban' : 'Unban',
    severity: isBan ? 'WARN' : 'INFO',
    message: `Device ${device.friendly_name} was ${isBan ? 'banned' : 'unbanned'} by ${actor.name}`,
    devicePk: device.pk,
  });
  writeEffect(store, actor, isBan ? 'device_banned' : 'device_unbanned', device.device_id, { serial: device.serial });
}

/** Columns of the console's own table, such as `mdm_compromised`, `trust_level`, `last_login` (nanoseconds, bigint). */
export type DeviceFields = Partial<DeviceColumns>;

/** Writes columns of a device without the API; `mdm_compromised` is an effect of its own. */
export function patchDevice(store: ConsoleStore, actor: Actor, deviceId: string, fields: DeviceFields): void {
  const device = deviceOfId(store, deviceId);
  if (!device) throw new RangeError(`no device has the id ${deviceId}`);
  const columns = DEVICE_COLUMNS.filter((column) => fields[column] !== undefined);
  if (columns.length === 0) return;
  store.sql.update('device', device.pk, Object.fromEntries(columns.map((column) => [column, fields[column] ?? null])));
  writeEffect(store, actor, kindOf(device.mdm_compromised, fields.mdm_compromised), deviceId, {
    serial: device.serial,
    fields: columns,
  });
}

function kindOf(former: string, present: string | undefined): EffectKind {
  if (present === undefined || present === former) return 'device_updated';
  return present === 'TRUE' ? 'device_compromised' : 'device_recovered';
}

type DeletionResult = 'deleted' | 'no_such_device' | 'no_such_user' | 'not_registered';

/**
 * Deletes by the specification's rules. With an e-mail address: that person's mapping to the devices of the serial number,
 * the person when registered on no other device, and each device that is left with nobody. Without one: all mappings of
 * the serial number, its devices, and each person associated with only them.
 */
export function deleteDevices(
  store: ConsoleStore,
  actor: Actor,
  serial: string,
  email: string | undefined,
): DeletionResult {
  return store.sql.atomically(() => {
    const devices = devicesOfSerial(store, serial);
    if (devices.length === 0) return 'no_such_device';
    if (email === undefined) {
      const people = devices.flatMap((device) => ownersOfDevice(store, device.pk));
      for (const device of devices) deleteDevice(store, actor, device);
      deletePeopleWithoutDevice(store, actor, people);
      return 'deleted';
    }
    const user = enduserOfEmail(store, email);
    if (!user) return 'no_such_user';
    const registered = devices.filter((device) => isRegistered(store, device.pk, user.pk));
    if (registered.length === 0) return 'not_registered';
    for (const device of registered) {
      deleteMapping(store, actor, device, user);
      if (ownersOfDevice(store, device.pk).length === 0) deleteDevice(store, actor, device);
    }
    deletePeopleWithoutDevice(store, actor, [user]);
    return 'deleted';
  });
}

function isRegistered(store: ConsoleStore, devicePk: number, enduserPk: number): boolean {
  return (
    store.sql.value('SELECT 1 FROM mapping WHERE device_pk = ? AND enduser_pk = ?', devicePk, enduserPk) !== undefined
  );
}

function deleteDevice(store: ConsoleStore, actor: Actor, device: DeviceRow): void {
  for (const user of ownersOfDevice(store, device.pk)) deleteMapping(store, actor, device, user);
  writeEvent(store, {
    type: 'Registration',
    subType: 'Device',
    action: 'Unregister',
    severity: 'WARN',
    message: `Device ${device.friendly_name} was deleted by ${actor.name}`,
    devicePk: device.pk,
  });
  store.sql.run('DELETE FROM device WHERE pk = ?', device.pk);
  writeEffect(store, actor, 'device_deleted', device.device_id, { serial: device.serial });
}

function deleteMapping(store: ConsoleStore, actor: Actor, device: DeviceRow, user: EnduserRow): void {
  revokeCertificates(store, actor, device.pk, user.pk, 'deleted');
  writeEvent(store, {
    type: 'Registration',
    subType: 'Device',
    action: 'Unregister',
    severity: 'WARN',
    message: `Device ${device.friendly_name} of ${user.email} was unregistered by ${actor.name}`,
    devicePk: device.pk,
    user,
  });
  store.sql.run('DELETE FROM mapping WHERE device_pk = ? AND enduser_pk = ?', device.pk, user.pk);
  writeEffect(store, actor, 'mapping_deleted', device.device_id, { serial: device.serial, email: user.email });
}

function deletePeopleWithoutDevice(store: ConsoleStore, actor: Actor, people: EnduserRow[]): void {
  for (const user of new Map(people.map((each) => [each.pk, each])).values()) {
    if (store.sql.value('SELECT 1 FROM mapping WHERE enduser_pk = ? LIMIT 1', user.pk) !== undefined) continue;
    store.sql.run('DELETE FROM enduser WHERE pk = ?', user.pk);
    writeEvent(store, {
      caller: actor.name,
      type: 'Audit',
      subType: 'UserPrincipal',
      action: 'Delete',
      severity: 'WARN',
      message: `User ${user.email} has no device left and was deleted by ${actor.name}`,
    });
    writeEffect(store, actor, 'user_deleted', user.email);
  }
}

// API keys, refresh tokens and admin tokens.

export const CREDENTIAL_KINDS = ['api_key', 'refresh_token', 'admin_token'] as const;
type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export interface Credential {
  kind: CredentialKind;
  name: string;
  scope: KeyScope;
}

const PREFIX: Record<CredentialKind, string> = { api_key: 'twk_', refresh_token: 'twr_', admin_token: 'twa_' };

/**
 * Makes a credential and returns its secret, which is shown only once. A former one of the same kind and name is
 * revoked.
 */
export function issueCredential(store: ConsoleStore, kind: CredentialKind, name: string, scope: KeyScope): string {
  const secret = `${PREFIX[kind]}${randomBytes(24).toString('base64url')}`;
  store.sql.atomically(() => {
    revokeCredential(store, kind, name);
    store.sql.run(
      'INSERT INTO credential VALUES (?, ?, ?, ?, ?, 0)',
      hashOf(secret),
      kind,
      name,
      scope,
      Math.floor(store.clock.nowMs()),
    );
  });
  return secret;
}

export function revokeCredential(store: ConsoleStore, kind: CredentialKind, name: string): void {
  store.sql.run(
    'UPDATE credential SET revoked_at = ? WHERE kind = ? AND name = ? AND revoked_at = 0',
    Math.max(1, Math.floor(store.clock.nowMs())),
    kind,
    name,
  );
}

/** The owner of this secret; undefined for an unknown or revoked one. */
export function credentialOf(store: ConsoleStore, secret: string): Credential | undefined {
  const hash = hashOf(secret);
  const row = store.sql.get<Credential & { hash: string }>(
    'SELECT hash, kind, name, scope FROM credential WHERE hash = ? AND revoked_at = 0',
    hash,
  );
  if (!row || !timingSafeEqual(Buffer.from(row.hash), Buffer.from(hash))) return undefined;
  return { kind: row.kind, name: row.name, scope: row.scope };
}

/** The valid credential of this id; undefined when none has it. Names are given again after a deletion, ids never. An organization has few. */
export function credentialOfId(store: ConsoleStore, kind: CredentialKind, id: string): Credential | undefined {
  const rows = store.sql.all<Credential & { hash: string }>(
    'SELECT hash, kind, name, scope FROM credential WHERE kind = ? AND revoked_at = 0',
    kind,
  );
  const row = rows.find((each) => credentialId(store, each.hash) === id);
  return row && { kind: row.kind, name: row.name, scope: row.scope };
}

/** The public id of the credential with this hash. */
export function credentialId(store: ConsoleStore, hash: string): string {
  return uuidFrom(`${store.org.id}:api-key:${hash}`);
}

/** The scope of a valid credential; undefined when none of this kind and name exists. */
export function scopeOf(store: ConsoleStore, kind: CredentialKind, name: string): KeyScope | undefined {
  return store.sql.value<KeyScope>(
    'SELECT scope FROM credential WHERE kind = ? AND name = ? AND revoked_at = 0',
    kind,
    name,
  );
}

export function hasCredentials(store: ConsoleStore): boolean {
  return store.sql.value('SELECT 1 FROM credential LIMIT 1') !== undefined;
}

export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export function writeAudit(store: ConsoleStore, actor: Actor, action: string, message: string): void {
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Resource',
    action,
    severity: 'INFO',
    message: `${message} by ${actor.name}`,
  });
}
