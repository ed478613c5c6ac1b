// console handlers: lists of devices and end users, in version 1: a list, or a page.
// In: checked queries. Out: records. A page is asked for with Skip, with Limit, or with both.
import { type Answer, listAnswer, textAnswer } from '../answer.ts';
import {
  DEVICE_ORDER_COLUMNS,
  DEVICES,
  deviceCriteria,
  ENDUSER_ORDER_COLUMNS,
  ENDUSERS,
  enduserCriteria,
  type Order,
  type RecordPage,
  readAll,
  readPage,
} from '../store/devices.ts';
import type { Call } from './call.ts';

/** The page size that clients request; the size of a page requested by Skip alone. */
const LIMIT_DEFAULT = 1_000;
/** A larger page is written in pieces of this size. */
const PIECE = 1_000;

export type Reader = (skip: number, limit: number) => RecordPage;

export function pageAnswer(
  name: string,
  read: Reader,
  skip: number,
  limit: number,
  wrap: (text: string) => [string, string],
): Answer {
  const first = read(skip, Math.min(limit, PIECE));
  const count = first.count;
  const [before, after] = wrap(`,"count":${count}`);
  if (limit <= PIECE || skip + PIECE >= count)
    return textAnswer(`${before}"${name}":[${first.records.join(',')}]${after}`);
  const batches = function* (): Generator<string[]> {
    yield first.records;
    for (let done = PIECE; done < limit && skip + done < count; done += PIECE) {
      yield read(skip + done, Math.min(PIECE, limit - done)).records;
    }
  };
  return listAnswer(batches(), `${before}"${name}":[`, `]${after}`);
}

const plain = (count: string): [string, string] => ['{', `${count}}`];
type Ordering = { Order?: 'asc' | 'desc' | undefined; OrderBy?: string | undefined };

function orderOf<C extends Record<string, string>>(query: Ordering, columns: C, byDefault?: string): Order {
  const name = query.OrderBy ?? byDefault;
  return { column: name === undefined ? undefined : columns[name], descending: query.Order === 'desc' };
}

export function listDevices({ store, query, pageForm }: Call<'list_devices'>): Answer {
  const criteria = devicesAsked(query);
  if (query.Skip === undefined && query.Limit === undefined) {
    return listAnswer(readAll(store, DEVICES, criteria, orderOf(query, DEVICE_ORDER_COLUMNS), 'unpaged'));
  }
  const order = orderOf(query, DEVICE_ORDER_COLUMNS, 'serialnumber');
  const read: Reader = (skip, limit) => readPage(store, DEVICES, criteria, order, skip, limit, pageForm);
  return pageAnswer('devices', read, query.Skip ?? 0, query.Limit ?? LIMIT_DEFAULT, plain);
}

function devicesAsked(query: Call<'list_devices'>['query']) {
  return deviceCriteria(
    {
      serial: query.Serialnumber,
      email: query.Email,
      model: query.Model,
      friendlyName: query.DeviceFriendlyName,
    },
    { serial: query.exact_serial_number, email: query.exact_email },
  );
}

export function listEndusers({ store, query, pageForm }: Call<'list_endusers'>): Answer {
  const criteria = endusersAsked(query);
  if (query.Skip === undefined && query.Limit === undefined) {
    return listAnswer(readAll(store, ENDUSERS, criteria, orderOf(query, ENDUSER_ORDER_COLUMNS), 'unpaged'));
  }
  const order = orderOf(query, ENDUSER_ORDER_COLUMNS, 'email');
  const read: Reader = (skip, limit) => readPage(store, ENDUSERS, criteria, order, skip, limit, pageForm);
  return pageAnswer('endusers', read, query.Skip ?? 0, query.Limit ?? LIMIT_DEFAULT, plain);
}

function endusersAsked(query: Call<'list_endusers'>['query']) {
  return enduserCriteria(
    { serial: query.Serialnumber, email: query.Email, name: query.Name },
    { email: query.exact_email },
  );
}
