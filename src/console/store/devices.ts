// console store: criteria for devices, and reading them. In: a filter. Out: criteria for a listing, or single rows. It
// changes nothing (see device-changes).
import { type Criteria, criteriaOf, type ListSource } from './listing.ts';
import { DEVICE_JSON } from './records.ts';
import type { ConsoleStore } from './store.ts';

/** All compare exactly; an e-mail address in any case. */
export interface DeviceFilter {
  serial?: string | undefined;
  email?: string | undefined;
  model?: string | undefined;
  friendlyName?: string | undefined;
}

export const DEVICES: ListSource = { table: 'device', json: DEVICE_JSON };

/** Columns by the name that `OrderBy` gives them. */
export const DEVICE_ORDER_COLUMNS = {
  serialnumber: 'serial',
  devicefriendlyname: 'friendly_name',
  model: 'model',
  deviceid: 'device_id',
  platform: 'platform',
  ownership: 'ownership',
  os: 'os',
  lastlogin: 'last_login',
  created_at: 'created_at',
  createdat: 'created_at',
} as const;

export const DEVICES_OF_EMAIL =
  'pk IN (SELECT device_pk FROM mapping WHERE enduser_pk IN (SELECT pk FROM enduser WHERE email = ?))';

export function deviceCriteria(...filters: DeviceFilter[]): Criteria {
  return criteriaOf(
    filters.flatMap((filter) => [
      ['serial = ?', filter.serial],
      [DEVICES_OF_EMAIL, filter.email],
      ['model = ?', filter.model],
      ['friendly_name = ?', filter.friendlyName],
    ]),
  );
}

export interface DeviceRow {
  pk: number;
  device_id: string;
  serial: string;
  friendly_name: string;
  ownership: string;
  platform: string;
  model: string;
  architecture: string;
  banned: string;
  os: string;
  app_version: string;
  registered: string;
  mdm_compromised: string;
  mdm_source: string;
  mdm_marked: string;
  trust_access: number;
  trust_level: string;
  /** Nanoseconds, as text: the digits stay exact. */
  scored_at_ns: string;
}

const ROW = `pk, device_id, serial, friendly_name, ownership, platform, model, architecture, banned, os, app_version, registered,
  mdm_compromised, mdm_source, mdm_marked, trust_access, trust_level, CAST(trust_updated AS TEXT) AS scored_at_ns`;

export function devicesOfSerial(store: ConsoleStore, serial: string): DeviceRow[] {
  return store.sql.all<DeviceRow>(`SELECT ${ROW} FROM device WHERE serial = ? ORDER BY pk`, serial);
}

export function deviceOfId(store: ConsoleStore, deviceId: string): DeviceRow | undefined {
  return store.sql.get<DeviceRow>(`SELECT ${ROW} FROM device WHERE device_id = ?`, deviceId);
}

export function deviceOfPk(store: ConsoleStore, pk: number): DeviceRow | undefined {
  return store.sql.get<DeviceRow>(`SELECT ${ROW} FROM device WHERE pk = ?`, pk);
}
