// Lists of version 2 over loopback: paged, checked at their boundaries, and never exchanged for those of version 1.
import { describe, expect, test } from 'vitest';
import { causeOf } from '../../src/platform/client/fault.ts';
import { clientOf, errorOf, gather, type Handler, json, type Seen, serve } from './loopback.ts';

const fleetOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `device ${index}`,
    serial_number: `S${index}`,
    banned: index === 3,
  }));

/** `moved`: how many records have gone from its beginning by the nth request. */
function paging(count: number, moved: (request: number) => number = () => 0): Handler {
  let requests = 0;
  return ({ query }, response) => {
    requests += 1;
    const skip = Number(query.get('skip')) + moved(requests);
    const devices = fleetOf(count).slice(skip, skip + Number(query.get('limit')));
    json(response, { request_id: 'r', error_code: 0, error_description: '', data: { devices, count } });
  };
}

const pathsOf = (seen: readonly Seen[]) => [...new Set(seen.map(({ path }) => path))];

describe('pages of v2 lists', () => {
  test.each([0, 1, 10, 11, 37])('of %i devices hold each once, in the shape of version 1', async (count) => {
    const { address, seen } = await serve(paging(count));
    const client = clientOf(address, { lists: 'v2' });
    const records = (await gather(client.pages('devices', { pageSize: 10 }))).flatMap((page) => page.records);
    expect(records).toEqual(
      fleetOf(count).map(({ id, serial_number, banned }) => ({
        DeviceID: id,
        SerialNumber: serial_number,
        Banned: banned ? 'TRUE' : 'FALSE',
      })),
    );
    expect(Object.fromEntries(seen[0]?.query ?? [])).toEqual({ skip: '0', limit: '10', order: 'asc', order_by: 'id' });
    expect(pathsOf(seen)).toEqual(['/api/v2/devices']);
    await client.close();
  });

  test('that shifted between two requests are refused', async () => {
    const { address } = await serve(paging(37, (request) => (request > 2 ? 1 : 0)));
    const client = clientOf(address, { lists: 'v2' });
    expect(causeOf(await errorOf(gather(client.pages('devices', { pageSize: 10, concurrency: 1 }))))).toBe('shifted');
    await client.close();
  });

  test('of a server without them are an error: version 1 is not asked', async () => {
    const { address, seen } = await serve(({ path }, response) =>
      path.startsWith('/api/v1/') ? json(response, { devices: [], count: 0 }) : json(response, { Message: 'no' }, 404),
    );
    const client = clientOf(address, { lists: 'v2' });
    const error = await errorOf(gather(client.pages('devices')));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'status']);
    expect(pathsOf(seen)).toEqual(['/api/v2/devices']);
    await client.close();
  });
});
