// console store: adding devices, people and registrations, as seeding and an administrator's hand do.
// In: whole rows. Out: their keys. No events and no effects here: the caller knows what happened.
import type { ConsoleStore } from './store.ts';

export interface DeviceColumns {
  device_id: string;
  serial: string;
  friendly_name: string;
  ownership: string;
  platform: string;
  model: string;
  architecture: string;
  registered: string;
  banned: string;
  os: string;
  app_version: string;
  /** JSON array, as `factors`. */
  roles: string;
  /** Nanoseconds, as all times here. */
  last_login: bigint;
  login_count: number;
  created_at: bigint;
  mdm_timestamp: bigint;
  mdm_source: string;
  mdm_compromised: string;
  mdm_compliant: string;
  trust_entity: number;
  trust_override: number;
  trust_access: number;
  override_active: string;
  trust_level: string;
  trust_updated: bigint;
  factors: string;
}

export const DEVICE_COLUMNS = [
  'device_id',
  'serial',
  'friendly_name',
  'ownership',
  'platform',
  'model',
  'architecture',
  'registered',
  'banned',
  'os',
  'app_version',
  'roles',
  'last_login',
  'login_count',
  'created_at',
  'mdm_timestamp',
  'mdm_source',
  'mdm_compromised',
  'mdm_compliant',
  'trust_entity',
  'trust_override',
  'trust_access',
  'override_active',
  'trust_level',
  'trust_updated',
  'factors',
] as const satisfies readonly (keyof DeviceColumns)[];

const INSERT_DEVICE = `INSERT INTO device (${DEVICE_COLUMNS.join(', ')}) VALUES (${DEVICE_COLUMNS.map(() => '?').join(', ')})`;

export function insertDevice(store: ConsoleStore, row: DeviceColumns): number {
  const result = store.sql.exact(INSERT_DEVICE).run(...DEVICE_COLUMNS.map((name) => row[name]));
  return Number(result.lastInsertRowid);
}

export interface EnduserColumns {
  email: string;
  name: string;
  groups: string;
  roles: string;
  last_login: bigint;
  login_count: number;
  created_at: bigint;
  trust_entity: number;
  trust_override: number;
  trust_access: number;
  override_active: string;
  trust_level: string;
  trust_updated: bigint;
  factors: string;
}

const ENDUSER_COLUMNS = [
  'email',
  'name',
  'groups',
  'roles',
  'last_login',
  'login_count',
  'created_at',
  'trust_entity',
  'trust_override',
  'trust_access',
  'override_active',
  'trust_level',
  'trust_updated',
  'factors',
] as const satisfies readonly (keyof EnduserColumns)[];

const INSERT_ENDUSER = `INSERT INTO enduser (${ENDUSER_COLUMNS.join(', ')}) VALUES (${ENDUSER_COLUMNS.map(() => '?').join(', ')})`;

export function insertEnduser(store: ConsoleStore, row: EnduserColumns): number {
  const result = store.sql.exact(INSERT_ENDUSER).run(...ENDUSER_COLUMNS.map((name) => row[name]));
  return Number(result.lastInsertRowid);
}

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
