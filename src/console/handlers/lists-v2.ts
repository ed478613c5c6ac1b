// console handlers: lists of devices and end users in version 2: records of their own, a page in the envelope, newest first by default.
// In: checked queries. Out: records. Every filter filters, and all of them must match: clients act on what comes back.
import type { Answer } from '../answer.ts';
import { envelope } from '../refusal.ts';
import { DEVICES, ENDUSERS, type Order, readPage } from '../store/devices.ts';
import {
  DEVICE_ORDER_COLUMNS_V2,
  deviceCriteriaV2,
  ENDUSER_ORDER_COLUMNS_V2,
  enduserCriteriaV2,
} from '../store/filters-v2.ts';
import type { Call } from './call.ts';
import { pageAnswer, type Reader } from './lists.ts';

const DEVICES_LIMIT = 10;
const ENDUSERS_LIMIT = 100;

function enveloped(requestId: string): (count: string) => [string, string] {
  const [before, after] = envelope(requestId, '\n').split('\n') as [string, string];
  return (count) => [`${before}{`, `${count}}${after}`];
}

function orderOf(column: string, order: 'asc' | 'desc' | undefined): Order {
  return { column, descending: order !== 'asc' };
}

export function listDevicesV2({ store, query, requestId }: Call<'list_devices_v2'>): Answer {
  const criteria = deviceCriteriaV2(query);
  const order = orderOf(DEVICE_ORDER_COLUMNS_V2[query.order_by ?? 'created_at'], query.order);
  const read: Reader = (skip, limit) => readPage(store, DEVICES, criteria, order, skip, limit, 'v2');
  return pageAnswer('devices', read, query.skip ?? 0, query.limit ?? DEVICES_LIMIT, enveloped(requestId));
}

export function listEndusersV2({ store, query, requestId }: Call<'list_endusers_v2'>): Answer {
  const criteria = enduserCriteriaV2(query);
  const order = orderOf(ENDUSER_ORDER_COLUMNS_V2[query.order_by ?? 'created_at'], query.order);
  const read: Reader = (skip, limit) => readPage(store, ENDUSERS, criteria, order, skip, limit, 'v2');
  return pageAnswer('endusers', read, query.skip ?? 0, query.limit ?? ENDUSERS_LIMIT, enveloped(requestId));
}
