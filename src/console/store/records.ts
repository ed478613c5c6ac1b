// console store: the JSON of devices and end users, composed by SQLite itself.
// In: column names. Out: SQL expressions that give one record as JSON text. Integers never pass through JavaScript, so
// that 19 digits stay exact and a page of 1,000 costs little.

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

const EMAILS = `'Emails', json((SELECT json_group_array(u.email) FROM mapping m
  JOIN enduser u ON u.pk = m.enduser_pk WHERE m.device_pk = t.pk))`;

const SERIALS = `'SerialNumbers', json((SELECT json_group_array(d.serial) FROM mapping m
  JOIN device d ON d.pk = m.device_pk WHERE m.enduser_pk = t.pk))`;

/**
 * Which fields a record has: `unpaged` all of them; `paged` without Emails and SerialNumbers; `strict` as the
 * specification says of pages, without logins too.
 */
export type RecordForm = 'unpaged' | 'paged' | 'strict';

export const DEVICE_JSON: Record<RecordForm, string> = {
  unpaged: `json_object(${DEVICE}, ${LOGINS}, ${EMAILS})`,
  paged: `json_object(${DEVICE}, ${LOGINS})`,
  strict: `json_object(${DEVICE})`,
};

export const ENDUSER_JSON: Record<RecordForm, string> = {
  unpaged: `json_object(${ENDUSER}, ${LOGINS}, ${SERIALS})`,
  paged: `json_object(${ENDUSER}, ${LOGINS})`,
  strict: `json_object(${ENDUSER})`,
};

/** A device as events show it; the time of its last MDM report in seconds. */
export const EVENT_DEVICE_JSON = `json_object('id', t.device_id, 'friendly_name', t.friendly_name,
  'mac_address', lower(printf('%s:%s:%s:%s:%s:%s', substr(t.device_id, 1, 2), substr(t.device_id, 3, 2),
    substr(t.device_id, 5, 2), substr(t.device_id, 7, 2), substr(t.device_id, 25, 2), substr(t.device_id, 27, 2))),
  'serial_number', t.serial, 'registration_status', t.registered,
  'unregistered', json(iif(t.registered = 'TRUE', 'false', 'true')),
  'compromised_status', t.mdm_compromised, 'compliance_status', t.mdm_compliant,
  'oem_info', iif(t.platform IN ('macOS', 'iOS'), 'Apple Inc.', ''), 'model', t.model, 'platform', t.platform,
  'ownership', t.ownership, 'architecture', t.architecture, 'udid', upper(t.device_id), 'source', t.mdm_source,
  'last_mdm_data_synced_at', t.mdm_timestamp / 1000000000)`;
