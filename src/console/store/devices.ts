// console store: what devices are looked for by, and reading them.
// In: a filter. Out: criteria for a listing, or single rows. It changes nothing (see device-changes).
import { type Criteria, type ListSource, type Order, type RecordPage, readAll, readPage } from './listing.ts';
import { DEVICE_JSON, type RecordForm } from './records.ts';
import type { ConsoleStore } from './store.ts';

/** All compare exactly; an e-mail address in any case. */
export interface DeviceFilter {
  serial?: string | undefined;
  email?: string | undefined;
  model?: string | undefined;
  friendlyName?: string | undefined;
}

const SOURCE: ListSource = { table: 'device', json: DEVICE_JSON };

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

export function deviceCriteria(...filters: DeviceFilter[]): Criteria {
  const criteria: Criteria = { conditions: [], values: [] };
  const add = (condition: string, value: string | undefined): void => {
    if (value === undefined) return;
    criteria.conditions.push(condition);
    criteria.values.push(value);
  };
  for (const filter of filters) {
    add('serial = ?', filter.serial);
    add(
      'pk IN (SELECT device_pk FROM mapping WHERE enduser_pk IN (SELECT pk FROM enduser WHERE email = ?))',
      filter.email,
    );
    add('model = ?', filter.model);
    add('friendly_name = ?', filter.friendlyName);
  }
  return criteria;
}

export function pageOfDevices(
  store: ConsoleStore,
  criteria: Criteria,
  order: Order,
  skip: number,
  limit: number,
  form: RecordForm,
): RecordPage {
  return readPage(store, SOURCE, criteria, order, skip, limit, form);
}

export function allDevices(
  store: ConsoleStore,
  criteria: Criteria,
  order: Order,
  form: RecordForm,
): Generator<string[]> {
  return readAll(store, SOURCE, criteria, order, form);
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
  registered: string;
  mdm_compromised: string;
  mdm_source: string;
}

const ROW =
  'pk, device_id, serial, friendly_name, ownership, platform, model, architecture, banned, os, registered, mdm_compromised, mdm_source';

export function devicesOfSerial(store: ConsoleStore, serial: string): DeviceRow[] {
  return store.sql.all<DeviceRow>(`SELECT ${ROW} FROM device WHERE serial = ? ORDER BY pk`, serial);
}

export function deviceOfId(store: ConsoleStore, deviceId: string): DeviceRow | undefined {
  return store.sql.get<DeviceRow>(`SELECT ${ROW} FROM device WHERE device_id = ?`, deviceId);
}

export function deviceOfPk(store: ConsoleStore, pk: number): DeviceRow | undefined {
  return store.sql.get<DeviceRow>(`SELECT ${ROW} FROM device WHERE pk = ?`, pk);
}
