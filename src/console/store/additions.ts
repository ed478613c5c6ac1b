// console store: adding devices, people and registrations, for seeding and for direct changes. In: whole rows. Out:
// their keys. No events and no effects here: the caller adds them.
import type { ConsoleStore } from './store.ts';

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

export const DEVICE_COLUMNS = Object.keys(DEVICE) as (keyof DeviceColumns)[];
export type DeviceColumns = RowOf<typeof DEVICE>;
export type EnduserColumns = RowOf<typeof ENDUSER>;

export const insertDevice = inserter<DeviceColumns>('device', DEVICE);
export const insertEnduser = inserter<EnduserColumns>('enduser', ENDUSER);

function inserter<Row extends object>(table: string, columns: Record<keyof Row, unknown>) {
  const names = Object.keys(columns) as (keyof Row & string)[];
  const insert = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
  return (store: ConsoleStore, row: Row): number => {
    const result = store.sql.exact(insert).run(...names.map((name) => row[name]));
    return Number(result.lastInsertRowid);
  };
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
