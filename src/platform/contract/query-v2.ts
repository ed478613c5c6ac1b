// management contract: the query parameters of the lists of version 2. In: text by parameter name. Out: checked values. Clients act on
// what comes back, so every filter filters: an unknown name and an empty value are refused, never ignored.
import { z } from 'zod';
import { TRUST_LEVELS } from '../../domain/platform-values.ts';
import { count, oneOf, order } from './query-parts.ts';

const EMPTY = 'must not be empty: leave it out to have no such filter';

/** Lists give 0 and 1, and clients send back what they were given. */
const flag = oneOf(['true', 'false', '1', '0'] as const).transform(
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

const paging = { skip: count, limit: count, order };

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
  banned: flag,
  /** Whether it is registered. */
  active: flag,
  mdm_present: flag,
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
  ...paging,
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
  active: flag,
  /** They have any of them. */
  role_names: anyOf,
  /** Another name of `role_names`. */
  security_roles: anyOf,
  last_login_before: time,
  last_login_after: time,
  exact_email: exact,
  ...paging,
  order_by: oneOf(ENDUSER_ORDER_BY_V2),
});
export type EnduserQueryV2 = z.infer<typeof EnduserQueryV2>;
