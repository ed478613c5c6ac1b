// Lookups of the client: of servers that filter, that ignore a filter, and that lack the newer list.
import { expect, test } from 'vitest';
import { causeOf } from '../../src/platform/client/fault.ts';
import { clientOf, errorOf, type Handler, json, serve } from './loopback.ts';

const DEVICE = { DeviceID: 'd7', SerialNumber: 'S-7' };
const fleet = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ DeviceID: `d${n}`, SerialNumber: `S-${n}` }));
const envelope = (devices: object[]) => ({
  error_code: 0,
  error_description: '',
  data: { devices, count: devices.length },
});

async function lookedUp(handler: Handler, recordsMax = 20) {
  const { address, seen } = await serve(handler);
  const client = clientOf(address);
  const device = await client.device('d7', recordsMax).catch((error: Error) => error);
  await client.close();
  return { device, asked: seen.map(({ path, query }) => `${path}?${query}`) };
}

/** A server that filters the list of version 1 by serial number, and answers version 2 as given. */
const server =
  (newer: object[] | undefined, devices: object[] = fleet(9)): Handler =>
  ({ path, query }, response) => {
    if (path === '/api/v2/devices') return newer ? json(response, envelope(newer)) : json(response, {}, 404);
    const serial = query.get('Serialnumber');
    json(
      response,
      devices.filter((device) => serial === null || (device as typeof DEVICE).SerialNumber === serial),
    );
  };

const BY_ID = '/api/v2/devices?id=d7&Skip=0&Limit=10';

test.each([
  ['of version 2', { id: 'd7', serial_number: 'S-7', name: 'a laptop' }],
  ['of version 1', DEVICE],
])('a device is found by its DeviceID in two requests, by a record %s', async (_, record) => {
  const { device, asked } = await lookedUp(server([record]));
  expect(device).toEqual(DEVICE);
  expect(asked).toEqual([BY_ID, '/api/v1/devices?Serialnumber=S-7']);
});

test('an unknown DeviceID is one request', async () => {
  const { device, asked } = await lookedUp(server([]));
  expect(device).toBeUndefined();
  expect(asked).toEqual([BY_ID]);
});

test.each([
  ['lacks version 2', undefined],
  ['ignores the filter', fleet(10).map(({ DeviceID }) => ({ id: `other-${DeviceID}` }))],
  ['has no serial number for the device', [{ id: 'd7', serial_number: '' }]],
])('a device is found in the list of a server that %s', async (_, newer) => {
  const { device, asked } = await lookedUp(server(newer));
  expect(device).toEqual(DEVICE);
  expect(asked).toEqual([BY_ID, '/api/v1/devices?']);
});

test('a long list is read until the device is found', async () => {
  expect((await lookedUp(server(undefined, fleet(5_000)), 1_000)).device).toEqual(DEVICE);
});

test('a long list is read up to a bound, and the error says so', async () => {
  const { device } = await lookedUp(server(undefined, fleet(5_000).reverse()));
  expect((device as Error).message).toBe(
    '`GET /api/v1/devices`: the device is not among the first 20 of the list, and this server has no lookup by DeviceID: give its serial number',
  );
  expect(causeOf(device)).toBe('unfiltered');
});

test('a server that ignores a filter is read up to a bound where one is given, and whole otherwise', async () => {
  const { address } = await serve((_, response) => json(response, fleet(500)));
  const client = clientOf(address);
  expect(await client.devicesOfSerial('S-7')).toEqual([DEVICE]);
  const error = await errorOf(client.devicesOfSerial('S-7', 100));
  expect(error.message).toBe(
    '`GET /api/v1/devices`: the server sent more than 100 records for one `Serialnumber`: it ignores this filter, and the rest was not read',
  );
  for (const lookup of [client.user('a@b.example', 100), client.service('s.eu', 100)])
    expect(causeOf(await errorOf(lookup))).toBe('unfiltered');
  await client.close();
});
