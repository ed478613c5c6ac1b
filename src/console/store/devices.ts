// console store: criteria for devices, and reading them. In: a filter. Out: criteria for a listing, or single rows. It
// changes nothing (see device-changes).

import type { DeviceQueryV2, EnduserQueryV2 } from '../../platform/contract.ts';
import type { ConsoleStore, SqlValue } from './store.ts';

// The JSON of devices and end users, composed by SQLite itself.

const TRUST = `'TrustData', json_object('EntityTrustscore', t.trust_entity, 'OverrideTrustscore', t.trust_override,
  'AccessTrustscore', t.trust_access, 'OverrideActive', t.override_active, 'Level', t.trust_level,
  'UpdatedAt', t.trust_updated, 'Factors', json(t.factors)), 'Roles', json(t.roles)`;

const DEVICE = `'DeviceID', t.device_id, 'SerialNumber', t.serial, 'DeviceFriendlyName', t.friendly_name,
  'Ownership', t.ownership, 'Platform', t.platform, 'Model', t.model, 'Architecture', t.architecture,
  'RegisteredStatus', t.registered, 'MdmData', json_object('Timestamp', t.mdm_timestamp, 'Source', t.mdm_source,
  'CompromisedStatus', t.mdm_compromised, 'CompliantStatus', t.mdm_compliant), ${TRUST},
  'Banned', t.banned, 'OS', t.os, 'AppVersion', t.app_version`;

const ENDUSER = `'Name', t.name, 'Email', t.email, 'Groups', t.groups, ${TRUST}`;

const LOGINS = `'LastLogin', t.last_login, 'LoginCount', t.login_count, 'CreatedAt', t.created_at`;

const EMAIL_LIST = `json((SELECT json_group_array(u.email) FROM mapping m
  JOIN enduser u ON u.pk = m.enduser_pk WHERE m.device_pk = t.pk))`;

const EMAILS = `'Emails', ${EMAIL_LIST}`;

const SERIALS = `'SerialNumbers', json((SELECT json_group_array(d.serial) FROM mapping m
  JOIN device d ON d.pk = m.device_pk WHERE m.enduser_pk = t.pk))`;

/** Whether a device is under MDM: as it was marked, otherwise when there is MDM data. */
const MDM_PRESENT = `iif(mdm_marked = '', mdm_source <> '', mdm_marked = 'TRUE')`;

const STATUS = `iif(t.override_active = 'TRUE', 'Overridden', 'Calculated')`;

/** Factors in the names of version 2. Most devices have none: only the others are worth a query of their own. */
const FACTORS_V2 = `json(iif(t.factors = '[]', '[]', (SELECT json_group_array(json_object(
  'name', f.value ->> 'Name', 'value', f.value ->> 'Value', 'type', f.value ->> 'Type', 'source', f.value ->> 'Source',
  'description', f.value ->> 'Description', 'remediation', json_object(
  'description', f.value ->> 'RemediationDescription', 'url', f.value ->> 'RemediationURL'))) FROM json_each(t.factors) f)))`;

const TRUST_V2 = `json_object('value', t.trust_access, 'level', t.trust_level, 'status', ${STATUS},
  'last_evaluated', json_object('value', t.trust_entity, 'level', t.trust_level, 'timestamp', t.trust_updated),
  'expired_at', 0, 'factors', ${FACTORS_V2})`;

/** Integers for flags: readers of booleans take 0 and 1, and readers of integers no booleans. */
const DEVICE_V2 = `'id', t.device_id, 'name', t.friendly_name, 'serial_number', t.serial, 'ownership', t.ownership,
  'platform', t.platform, 'model', t.model, 'os', t.os, 'architecture', t.architecture, 'app_version', t.app_version,
  'banned', t.banned = 'TRUE', 'mdm_present', ${MDM_PRESENT}, 'mdm_vendor_name', t.mdm_source,
  'mdm_vendor_udid', iif(t.mdm_source = '', '', upper(t.device_id)),
  'mdm_compliant', CASE t.mdm_compliant WHEN 'TRUE' THEN 1 WHEN 'FALSE' THEN 0 END, 'source', t.mdm_source,
  'trust_level', t.trust_level, 'trust_status', ${STATUS},
  'trust_profile_display_name', '', 'threat_profile_display_name', '', 'created_at', t.created_at,
  'last_login', t.last_login, 'extra_details', json_object('emails', ${EMAIL_LIST},
  'number_of_users', (SELECT count(*) FROM mapping m WHERE m.device_pk = t.pk), 'role_names', json(t.roles),
  'trust', ${TRUST_V2}, 'trustscore', json_object('id', t.device_id, 'type', 'device', 'timestamp', t.trust_updated,
  'score', t.trust_access)), 'role_names', json(t.roles)`;

const ORG_ID = `(SELECT value FROM meta WHERE name = 'org_id')`;

/** A UUID within the organization's: of the row, and of when it was made, since a number is given again after its row was deleted. */
const ENDUSER_ID = `substr(${ORG_ID}, 1, 9) || printf('%04x', t.created_at / 1000 % 65536) || substr(${ORG_ID}, 14, 11)
  || printf('%012x', t.pk)`;

const ENDUSER_V2 = `'id', ${ENDUSER_ID}, 'org_id', ${ORG_ID}, 'name', t.name, 'email', t.email,
  'status', iif(t.last_login > 0, 'Active', 'Invited'),
  'created_at', t.created_at, 'invited_at', 0, 'last_login', t.last_login, 'security_roles', json(t.roles)`;

/**
 * Which fields a record has: `unpaged` all of them; `paged` without Emails and SerialNumbers; `strict` as the
 * specification says of pages, without logins too. `v2` is the record of version 2, which is another one.
 */
export type RecordForm = 'unpaged' | 'paged' | 'strict' | 'v2';

const DEVICE_JSON: Record<RecordForm, string> = {
  unpaged: `json_object(${DEVICE}, ${LOGINS}, ${EMAILS})`,
  paged: `json_object(${DEVICE}, ${LOGINS})`,
  strict: `json_object(${DEVICE})`,
  v2: `json_object(${DEVICE_V2})`,
};

const ENDUSER_JSON: Record<RecordForm, string> = {
  unpaged: `json_object(${ENDUSER}, ${LOGINS}, ${SERIALS})`,
  paged: `json_object(${ENDUSER}, ${LOGINS})`,
  strict: `json_object(${ENDUSER})`,
  v2: `json_object(${ENDUSER_V2})`,
};

/**
 * A device as events show it; the time of its last MDM report in seconds. Four parameters: twice "FALSE" for one that is being
 * unregistered, or null; the address and the program that it was last seen with.
 */
export const EVENT_DEVICE_JSON = `json_object('id', t.device_id, 'friendly_name', t.friendly_name,
  'mac_address', lower(printf('%s:%s:%s:%s:%s:%s', substr(t.device_id, 1, 2), substr(t.device_id, 3, 2),
    substr(t.device_id, 5, 2), substr(t.device_id, 7, 2), substr(t.device_id, 25, 2), substr(t.device_id, 27, 2))),
  'serial_number', t.serial, 'registration_status', coalesce(?, t.registered),
  'unregistered', json(iif(coalesce(?, t.registered) = 'TRUE', 'false', 'true')),
  'compromised_status', t.mdm_compromised, 'compliance_status', t.mdm_compliant,
  'oem_info', iif(t.platform IN ('macOS', 'iOS'), 'Apple Inc.', ''), 'model', t.model, 'platform', t.platform,
  'ownership', t.ownership, 'architecture', t.architecture, 'udid', upper(t.device_id), 'source', t.mdm_source,
  'os', t.os, 'last_ip_address', ?, 'last_user_agent', ?,
  'last_mdm_data_synced_at', t.mdm_timestamp / 1000000000)`;

// Pages and whole lists of devices and end users.

export interface ListSource {
  table: 'device' | 'enduser';
  json: Record<RecordForm, string>;
}

/** Conditions on columns of the table, joined by AND. */
export interface Criteria {
  conditions: string[];
  values: SqlValue[];
}

/** Conditions joined by AND; an undefined value adds no condition. */
function criteriaOf(asked: readonly (readonly [condition: string, value: SqlValue | undefined])[]): Criteria {
  const given = asked.filter(([, value]) => value !== undefined);
  return { conditions: given.map(([condition]) => condition), values: given.map(([, value]) => value as SqlValue) };
}

/** `column` undefined: as registered. */
export interface Order {
  column: string | undefined;
  descending: boolean;
}

export interface RecordPage {
  records: string[];
  /** Of all matches, whatever the page. */
  count: number;
}

export function readPage(
  store: ConsoleStore,
  source: ListSource,
  criteria: Criteria,
  order: Order,
  skip: number,
  limit: number,
  form: RecordForm,
): RecordPage {
  const count = countMatches(store, source, criteria);
  const wanted = Math.max(0, Math.min(limit, count - skip));
  if (wanted === 0) return { records: [], count };
  // A page beyond the middle is reached from the end, so that the last page costs what the first one does.
  const isNearerEnd = skip > count / 2;
  const offset = isNearerEnd ? count - skip - wanted : skip;
  const direction = order.descending !== isNearerEnd ? 'DESC' : 'ASC';
  // With criteria the few matches are sorted; "+" keeps SQLite from walking the whole index of the order instead.
  const column = order.column && `${criteria.conditions.length > 0 ? '+' : ''}${order.column} ${direction}, `;
  const by = `${column ?? ''}pk ${direction}`;
  // The inner select touches the covering index alone; only the page's own rows are looked up.
  const records = store.sql.values<string>(
    `SELECT ${source.json[form]} FROM
      (SELECT pk, row_number() OVER () AS place FROM
        (SELECT pk FROM ${source.table}${whereOf(criteria)} ORDER BY ${by} LIMIT ? OFFSET ?)) AS k
      CROSS JOIN ${source.table} AS t ON t.pk = k.pk ORDER BY k.place`,
    ...criteria.values,
    wanted,
    offset,
  );
  return { records: isNearerEnd ? records.reverse() : records, count };
}

/** All matches in batches of at most `batch`, each read when it is asked for; a change in between moves nothing. */
export function* readAll(
  store: ConsoleStore,
  source: ListSource,
  criteria: Criteria,
  order: Order,
  form: RecordForm,
  batch = 500,
): Generator<string[]> {
  const direction = order.descending ? 'DESC' : 'ASC';
  const step = order.descending ? '<' : '>';
  const column = order.column ?? 'pk';
  let last: { k: string | bigint; pk: bigint } | undefined;
  for (;;) {
    const after = last && (order.column ? `(t.${column}, t.pk) ${step} (?, ?)` : `t.pk ${step} ?`);
    const conditions = after ? [...criteria.conditions, after] : criteria.conditions;
    const rows = store.sql
      .exact(
        `SELECT t.${column} AS k, t.pk AS pk, ${source.json[form]} AS record FROM ${source.table} AS t
          ${whereOf({ conditions, values: [] })} ORDER BY t.${column} ${direction}, t.pk ${direction} LIMIT ${batch}`,
      )
      .all(...criteria.values, ...(last ? (order.column ? [last.k, last.pk] : [last.pk]) : [])) as {
      k: string | bigint;
      pk: bigint;
      record: string;
    }[];
    if (rows.length > 0) yield rows.map((row) => row.record);
    if (rows.length < batch) return;
    last = rows.at(-1);
  }
}

function countMatches(store: ConsoleStore, source: ListSource, criteria: Criteria): number {
  if (criteria.conditions.length === 0) {
    return store.sql.value<number>('SELECT n FROM tally WHERE name = ?', source.table) ?? 0;
  }
  return store.sql.value<number>(`SELECT count(*) FROM ${source.table}${whereOf(criteria)}`, ...criteria.values) ?? 0;
}

function whereOf(criteria: Criteria): string {
  return criteria.conditions.length === 0 ? '' : ` WHERE ${criteria.conditions.join(' AND ')}`;
}

/** All compare exactly; an e-mail address in any case. */
interface DeviceFilter {
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

const DEVICES_OF_EMAIL =
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

// Criteria for end users, and reading them.

/** All compare exactly; an e-mail address in any case. */
interface EnduserFilter {
  serial?: string | undefined;
  email?: string | undefined;
  name?: string | undefined;
}

export const ENDUSERS: ListSource = { table: 'enduser', json: ENDUSER_JSON };

/** Columns by the name that `OrderBy` gives them. */
export const ENDUSER_ORDER_COLUMNS = {
  email: 'email',
  name: 'name',
  lastlogin: 'last_login',
  logincount: 'login_count',
  created_at: 'created_at',
  createdat: 'created_at',
} as const;

const ENDUSERS_OF_SERIAL =
  'pk IN (SELECT enduser_pk FROM mapping WHERE device_pk IN (SELECT pk FROM device WHERE serial = ?))';

export function enduserCriteria(...filters: EnduserFilter[]): Criteria {
  return criteriaOf(
    filters.flatMap((filter) => [
      [ENDUSERS_OF_SERIAL, filter.serial],
      ['email = ?', filter.email],
      ['name = ?', filter.name],
    ]),
  );
}

export interface EnduserRow {
  pk: number;
  email: string;
  name: string;
  groups: string;
  roles: string;
}

export function enduserOfEmail(store: ConsoleStore, email: string): EnduserRow | undefined {
  return store.sql.get<EnduserRow>('SELECT pk, email, name, groups, roles FROM enduser WHERE email = ?', email);
}

/** The people registered on a device, in the order in which they registered. */
export function ownersOfDevice(store: ConsoleStore, devicePk: number): EnduserRow[] {
  return store.sql.all<EnduserRow>(
    `SELECT u.pk, u.email, u.name, u.groups, u.roles FROM mapping m JOIN enduser u ON u.pk = m.enduser_pk
      WHERE m.device_pk = ? ORDER BY m.issued_at, u.pk`,
    devicePk,
  );
}

// The filters and orders of the lists of version 2. In: checked queries. Out: criteria and columns. Text compares exactly,
// e-mail addresses in any case; bounds of time are inclusive, and who never logged in is within none of them.

export const DEVICE_ORDER_COLUMNS_V2 = {
  created_at: 'created_at',
  last_login: 'last_login',
  id: 'device_id',
  name: 'friendly_name',
  serial_number: 'serial',
  platform: 'platform',
  model: 'model',
  ownership: 'ownership',
  os: 'os',
} as const satisfies Record<NonNullable<DeviceQueryV2['order_by']>, string>;

export const ENDUSER_ORDER_COLUMNS_V2 = {
  created_at: 'created_at',
  last_login: 'last_login',
  name: 'name',
  email: 'email',
} as const satisfies Record<NonNullable<EnduserQueryV2['order_by']>, string>;

const HAS_A_ROLE = 'EXISTS (SELECT 1 FROM json_each(roles) WHERE value IN (SELECT value FROM json_each(?)))';
const LOGIN_BEFORE = 'last_login > 0 AND last_login <= ?';
const LOGIN_AFTER = 'last_login > 0 AND last_login >= ?';

export function deviceCriteriaV2(query: DeviceQueryV2): Criteria {
  return criteriaOf([
    ['device_id = ?', query.id],
    ['friendly_name = ?', query.name],
    ['serial = ?', query.serial_number],
    ['serial = ?', query.exact_serial_number],
    [DEVICES_OF_EMAIL, query.email],
    [DEVICES_OF_EMAIL, query.exact_email],
    ['platform = ?', query.platform],
    ['model = ?', query.model],
    ['ownership = ?', query.ownership],
    ['os = ?', query.os],
    ['architecture = ?', query.architecture],
    ['app_version = ?', query.app_version],
    ["(banned = 'TRUE') = ?", bitOf(query.banned)],
    ["(registered = 'TRUE') = ?", bitOf(query.active)],
    [`(${MDM_PRESENT}) = ?`, bitOf(query.mdm_present)],
    ['mdm_source = ?', query.mdm_vendor_name],
    ['mdm_source = ?', query.source],
    ['trust_level = ?', query.trust_level],
    ["iif(override_active = 'TRUE', 'Overridden', 'Calculated') = ?", query.trustscore_status],
    [HAS_A_ROLE, query.role_names && JSON.stringify(query.role_names)],
    [LOGIN_BEFORE, query.last_login_before],
    [LOGIN_AFTER, query.last_login_after],
  ]);
}

export function enduserCriteriaV2(query: EnduserQueryV2): Criteria {
  return criteriaOf([
    ['name = ?', query.name],
    ['email = ?', query.email],
    ['email = ?', query.exact_email],
    [ENDUSERS_OF_SERIAL, query.serial_number],
    ["iif(last_login > 0, 'Active', 'Invited') = ?", query.status],
    ['(last_login > 0) = ?', bitOf(query.active)],
    [HAS_A_ROLE, query.role_names && JSON.stringify(query.role_names)],
    [HAS_A_ROLE, query.security_roles && JSON.stringify(query.security_roles)],
    [LOGIN_BEFORE, query.last_login_before],
    [LOGIN_AFTER, query.last_login_after],
  ]);
}

/** SQLite has no booleans: a comparison is 1 or 0. */
function bitOf(wanted: boolean | undefined): number | undefined {
  return wanted === undefined ? undefined : Number(wanted);
}
