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

const EMAIL_LIST = `json((SELECT json_group_array(u.email) FROM mapping m
  JOIN enduser u ON u.pk = m.enduser_pk WHERE m.device_pk = t.pk))`;

const EMAILS = `'Emails', ${EMAIL_LIST}`;

const SERIALS = `'SerialNumbers', json((SELECT json_group_array(d.serial) FROM mapping m
  JOIN device d ON d.pk = m.device_pk WHERE m.enduser_pk = t.pk))`;

/** Whether a device is under MDM: as it was marked, otherwise when there is MDM data. */
export const MDM_PRESENT = `iif(mdm_marked = '', mdm_source <> '', mdm_marked = 'TRUE')`;

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

export const DEVICE_JSON: Record<RecordForm, string> = {
  unpaged: `json_object(${DEVICE}, ${LOGINS}, ${EMAILS})`,
  paged: `json_object(${DEVICE}, ${LOGINS})`,
  strict: `json_object(${DEVICE})`,
  v2: `json_object(${DEVICE_V2})`,
};

export const ENDUSER_JSON: Record<RecordForm, string> = {
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
