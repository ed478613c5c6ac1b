// console store: the filters and orders of the lists of version 2. In: checked queries. Out: criteria and columns. Text compares exactly,
// e-mail addresses in any case; bounds of time are inclusive, and who never logged in is within none of them.
import type { DeviceQueryV2, EnduserQueryV2 } from '../../platform/contract.ts';
import { type Criteria, criteriaOf, DEVICES_OF_EMAIL, ENDUSERS_OF_SERIAL, MDM_PRESENT } from './devices.ts';

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
