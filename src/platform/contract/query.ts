// management contract: the query parameters of every endpoint, as a server reads them.
// In: text by parameter name. Out: checked values under the specification's names. It must never take a bad value of a
// known parameter for a missing one where that would widen what is deleted.
import { z } from 'zod';
import { EVENT_SEVERITIES, type EventSeverity } from '../../domain/platform-values.ts';
import { count, epochMs, filter, flagFilter, oneOf, order, piped, required } from './query-parts.ts';

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
