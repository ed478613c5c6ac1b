// management contract: the query parameters of every endpoint, as a server reads them.
// In: text by parameter name. Out: checked values under the specification's names. It must never take a bad value of a
// known parameter for a missing one where that would widen what is deleted.
import { z } from 'zod';
import { EVENT_SEVERITIES, type EventSeverity, TRUST_LEVELS } from '../../domain/platform-values.ts';

// The values of one parameter each.

/** A filter: an empty text is no filter. */
const filter = z
  .string()
  .transform((value) => (value === '' ? undefined : value))
  .optional();

const count = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number, 0 or more')
  .transform(Number)
  .meta({ type: 'integer' })
  .optional();

/** 19 digits fit, so that a client's "for ever" does. */
const epochMs = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a time in whole milliseconds since 1970')
  .transform(Number)
  .meta({ type: 'integer' })
  .optional();

const order = oneOf(['asc', 'desc'] as const);
const flagFilter = oneOf(['true', 'false'] as const).transform((value) => value && value === 'true');

/** One of a closed set in any case, with or without underscores; empty is none of them. Out: as the set spells it. */
function oneOf<const T extends readonly string[]>(values: T) {
  return z
    .string()
    .transform((value, context): T[number] | undefined => {
      const found = values.find((each) => plain(each) === plain(value));
      if (!found) context.addIssue(`must be one of ${values.map((each) => `\`${each}\``).join(', ')}`);
      return found;
    })
    .meta({ enum: [...values] })
    .optional();
}

function plain(word: string): string {
  return word.replaceAll('_', '').toLowerCase();
}

/** Several values separated by a pipe; empty ones are dropped. */
const piped = z
  .string()
  .transform((value) => {
    const values = value.split('|').filter((each) => each !== '');
    return values.length === 0 ? undefined : values;
  })
  .optional();

function required(what: string) {
  return z.string({ error: `is required: ${what}` }).min(1, `must not be empty: ${what}`);
}

export const ENDUSER_ORDER_BY = ['email', 'name', 'lastlogin', 'logincount', 'created_at', 'createdat'] as const;
export const DEVICE_ORDER_BY = [
  'serialnumber',
  'devicefriendlyname',
  'model',
  'deviceid',
  'platform',
  'ownership',
  'os',
  'lastlogin',
  'created_at',
  'createdat',
] as const;

const paging = { Skip: count, Limit: count, Order: order };

/** Endpoint 1. */
export const EnduserQuery = z.object({
  Serialnumber: filter,
  Email: filter,
  Name: filter,
  exact_email: filter,
  ...paging,
  OrderBy: oneOf(ENDUSER_ORDER_BY),
});
export type EnduserQuery = z.infer<typeof EnduserQuery>;

/** Endpoint 2. */
export const DeviceQuery = z.object({
  Serialnumber: filter,
  Email: filter,
  Model: filter,
  DeviceFriendlyName: filter,
  exact_email: filter,
  exact_serial_number: filter,
  ...paging,
  OrderBy: oneOf(DEVICE_ORDER_BY),
});
export type DeviceQuery = z.infer<typeof DeviceQuery>;

/** Endpoint 3. An empty Email is refused: taken for none, it would delete every user's mapping. */
export const DeleteDeviceQuery = z.object({
  SerialNumber: required('the serial number of the device'),
  Email: z.string().min(1, 'must not be empty: leave it out to delete the mappings of all users').optional(),
});
export type DeleteDeviceQuery = z.infer<typeof DeleteDeviceQuery>;

/** Endpoint 4. */
export const UpdateDeviceQuery = z.object({ SerialNumber: required('the serial number of the devices') });
export type UpdateDeviceQuery = z.infer<typeof UpdateDeviceQuery>;

const eventFilters = {
  before: epochMs,
  after: epochMs,
  type: piped,
  sub_type: filter,
  user_email: piped,
  device_id: filter,
  serialnumber: piped,
  workload_container_id: piped,
  service_name: piped,
  action: filter,
  id: filter,
  external_id: filter,
  /** A minimum. */
  severity: oneOf(EVENT_SEVERITIES).transform((value): EventSeverity | undefined => value),
  service_account_name: filter,
  start_time: epochMs,
  end_time: epochMs,
};

/** Endpoint 5; order is DESC, skip 0 and limit 10 unless given. */
export const EventListQuery = z.object({ ...eventFilters, order, skip: count, limit: count });
export type EventListQuery = z.infer<typeof EventListQuery>;

/** Endpoint 6; clients send an order here too, and it is ignored. */
export const EventCountQuery = z.object(eventFilters);
export type EventCountQuery = z.infer<typeof EventCountQuery>;

/** Endpoint 7; both bounds are inclusive. */
export const EventFeedQuery = z.object({ order, before: epochMs, after: epochMs, skip: count, limit: count });
export type EventFeedQuery = z.infer<typeof EventFeedQuery>;

/** Endpoint 8. */
export const ServiceQuery = z.object({
  ServiceID: filter,
  ServiceName: filter,
  FriendlyName: filter,
  DefaultServices: flagFilter,
});
export type ServiceQuery = z.infer<typeof ServiceQuery>;

/** Endpoints 10, 11 and 12. */
export const ServiceIdQuery = z.object({ ServiceID: required('the ID of the service') });
export type ServiceIdQuery = z.infer<typeof ServiceIdQuery>;

const policyId = required('the ID of the policy');

/** Policies, in newer versions. */
export const PolicyQuery = z.object({ PolicyID: filter });
export type PolicyQuery = z.infer<typeof PolicyQuery>;
export const PolicyIdQuery = z.object({ PolicyID: policyId });
export type PolicyIdQuery = z.infer<typeof PolicyIdQuery>;
export const DetachPolicyQuery = ServiceIdQuery.extend({ PolicyID: policyId });
export type DetachPolicyQuery = z.infer<typeof DetachPolicyQuery>;
/** Enforced unless it is said otherwise. */
export const AttachPolicyQuery = DetachPolicyQuery.extend({ Enabled: flagFilter });
export type AttachPolicyQuery = z.infer<typeof AttachPolicyQuery>;

/** Lists of bundles and of bundled services, in newer versions. */
export const BundleListQuery = z.object({ bundle_id: filter, bundle_name: filter, skip: count, limit: count });
export type BundleListQuery = z.infer<typeof BundleListQuery>;

export const NoQuery = z.object({});
export type NoQuery = z.infer<typeof NoQuery>;

// The lists of version 2. Clients act on what comes back, so every filter filters: an unknown name and an empty value are refused, never ignored.

const EMPTY = 'must not be empty: leave it out to have no such filter';

/** Lists give 0 and 1, and clients send back what they were given. */
const flagV2 = oneOf(['true', 'false', '1', '0'] as const).transform(
  (value) => value && (value === 'true' || value === '1'),
);

const exact = z.string().min(1, EMPTY).optional();

/** Several values separated by a pipe. */
const anyOf = z
  .string()
  .transform((value, context) => {
    const values = value.split('|').filter((each) => each !== '');
    if (values.length === 0) context.addIssue(EMPTY);
    return values;
  })
  .optional();

/** A store holds no later time. A client's "for ever" may be later. */
const LATEST_NS = 2n ** 63n - 1n;

/** Clients send all three units; the number of digits tells them apart. Out: nanoseconds. */
const time = z
  .string()
  .regex(
    /^(\d{10}|\d{13}|\d{19})$/,
    'must be a time since 1970 in seconds, milliseconds or nanoseconds: 10, 13 or 19 digits',
  )
  .transform((digits) => {
    const ns = BigInt(digits) * 10n ** BigInt(19 - digits.length);
    return ns < LATEST_NS ? ns : LATEST_NS;
  })
  .meta({ type: 'integer' })
  .optional();

/** `Calculated` from factors, or `Overridden` by an administrator. */
export const TRUST_STATUSES = ['Calculated', 'Overridden'] as const;
/** `Active` since the first login, `Invited` before it. */
export const ENDUSER_STATUSES = ['Active', 'Invited'] as const;

export const DEVICE_ORDER_BY_V2 = [
  'created_at',
  'last_login',
  'id',
  'name',
  'serial_number',
  'platform',
  'model',
  'ownership',
  'os',
] as const;
export const ENDUSER_ORDER_BY_V2 = ['created_at', 'last_login', 'name', 'email'] as const;

const pagingV2 = { skip: count, limit: count, order };

export const DeviceQueryV2 = z.strictObject({
  id: exact,
  name: exact,
  serial_number: exact,
  email: exact,
  platform: exact,
  model: exact,
  ownership: exact,
  os: exact,
  architecture: exact,
  app_version: exact,
  banned: flagV2,
  /** Whether it is registered. */
  active: flagV2,
  mdm_present: flagV2,
  mdm_vendor_name: exact,
  trust_level: oneOf(TRUST_LEVELS),
  trustscore_status: oneOf(TRUST_STATUSES),
  /** Of its MDM data. */
  source: exact,
  /** It has any of them. */
  role_names: anyOf,
  last_login_before: time,
  last_login_after: time,
  exact_email: exact,
  exact_serial_number: exact,
  ...pagingV2,
  order_by: oneOf(DEVICE_ORDER_BY_V2),
});
export type DeviceQueryV2 = z.infer<typeof DeviceQueryV2>;

export const EnduserQueryV2 = z.strictObject({
  name: exact,
  email: exact,
  /** Of a device of theirs. */
  serial_number: exact,
  status: oneOf(ENDUSER_STATUSES),
  /** Whether their status is `Active`. */
  active: flagV2,
  /** They have any of them. */
  role_names: anyOf,
  /** Another name of `role_names`. */
  security_roles: anyOf,
  last_login_before: time,
  last_login_after: time,
  exact_email: exact,
  ...pagingV2,
  order_by: oneOf(ENDUSER_ORDER_BY_V2),
});
export type EnduserQueryV2 = z.infer<typeof EnduserQueryV2>;
