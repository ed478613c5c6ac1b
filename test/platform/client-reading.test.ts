// Reads of the client against hand-made servers that answer well, badly, slowly, or not at all.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { causeOf } from '../../src/platform/client/fault.ts';
import { clientOf, DrivenClock, devicesOf, errorOf, HastyClock, json, KEY, serve } from './loopback.ts';

const DEVICES = '[{"DeviceID":"d","SerialNumber":"s","LastLogin":1763700000123456789}]';

describe('one page', () => {
  test('comes in a stable order, with the total and exact times', async () => {
    const { address, seen } = await serve((_, response) => json(response, `{"devices":${DEVICES},"count":7}`));
    const client = clientOf(address);
    const page = await client.page('devices', 20, 10);
    expect(page).toEqual({
      records: [{ DeviceID: 'd', SerialNumber: 's', LastLogin: 1763700000123456789n }],
      total: 7,
    });
    expect(seen[0]?.path).toBe('/api/v1/devices');
    expect(Object.fromEntries(seen[0]?.query ?? [])).toEqual({
      Skip: '20',
      Limit: '10',
      Order: 'asc',
      OrderBy: 'serialnumber',
    });
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    await client.close();
  });

  test('comes in the envelope of version 2', async () => {
    const body = '{"request_id":"r","error_code":0,"error_description":"","data":{"endusers":null,"count":0}}';
    const { address, seen } = await serve((_, response) => json(response, body));
    const client = clientOf(address, { lists: 'v2' });
    expect(await client.page('users', 0, 10)).toEqual({ records: [], total: 0 });
    expect(seen[0]?.path).toBe('/api/v2/enduser');
    await client.close();
  });

  test('with an error in the envelope is refused by its code', async () => {
    const { address } = await serve((_, response) =>
      json(response, { error_code: 42, error_description: `no, ${KEY}`, data: {} }),
    );
    const client = clientOf(address, { lists: 'v2' });
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'error_code']);
    expect(error.message).toBe('`GET /api/v2/devices`: the server reports error_code 42: no, [secret]');
    await client.close();
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
  ] as const)('compressed with %s is unpacked, and refused when cut off', async (encoding, pack) => {
    const packed = pack(Buffer.from(JSON.stringify({ devices: devicesOf(200), count: 200 })));
    let cut = false;
    const { address } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding });
      response.end(cut ? packed.subarray(0, packed.length - 9) : packed);
    });
    const client = clientOf(address, { retries: 1 });
    expect((await client.page('devices', 0, 200)).records).toHaveLength(200);
    cut = true;
    const error = await errorOf(client.page('devices', 0, 200));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'truncated']);
    await client.close();
  });

  test.each(['gzip', 'br'])('that unpacks to a bomb (%s) is refused', async (encoding) => {
    const bomb = encoding === 'br' ? brotliCompressSync(Buffer.alloc(3e6)) : gzipSync(Buffer.alloc(3e6));
    const { address, seen } = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding });
      response.end(bomb);
    });
    const client = clientOf(address, { bytesMax: 1_000_000 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'too_large']);
    expect(seen).toHaveLength(1);
    await client.close();
  });

  test('larger than the cap is refused before it has arrived whole', async () => {
    const { address } = await serve((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        response.once('drain', more);
      };
      more();
    });
    const client = clientOf(address, { bytesMax: 500_000 });
    expect(causeOf(await errorOf(client.page('devices', 0, 10)))).toBe('too_large');
    await client.close();
  });

  test('behind a redirect is refused, and the redirect is not followed', async () => {
    const { address, seen } = await serve((_, response) => {
      response.writeHead(302, { location: '/elsewhere' });
      response.end();
    });
    const client = clientOf(address);
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'redirect']);
    expect(seen).toHaveLength(1);
    await client.close();
  });

  test.each([
    ['a page of HTML', 'text/html', '<html>login</html>', 'garbage'],
    ['garbage', 'application/json', '{"devices":[}', 'garbage'],
    ['a number', 'application/json', '5', 'garbage'],
    ['an object of another kind', 'application/json', '{"hello":1}', 'garbage'],
    ['a count that is none', 'application/json', '{"devices":[],"count":-1}', 'garbage'],
    ['something nested 100,000 deep', 'application/json', `${'['.repeat(1e5)}${']'.repeat(1e5)}`, 'too_deep'],
  ])('that is %s is named', async (_, type, body, cause) => {
    const { address } = await serve((__, response) => json(response, body, 200, { 'content-type': type }));
    const client = clientOf(address);
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', cause]);
    expect(error.message).toContain('`GET /api/v1/devices`');
    expect(error.message).not.toContain('\n');
    await client.close();
  });

  test.each([
    ['shorter than its Content-Length', { 'content-length': '5000' }],
    ['without a length', { connection: 'close' }],
  ])('that ends too early (%s) is tried again, then named truncated', async (_, headers) => {
    const { address, seen } = await serve((__, response) => {
      response.socket?.end(
        `HTTP/1.1 200 OK\r\n${Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n{"devices":[{"DeviceID":"d"`,
      );
    });
    const client = clientOf(address, { retries: 2 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'truncated']);
    expect(seen.length).toBe('content-length' in headers ? 3 : 1);
    await client.close();
  });

  test('with a reset connection is tried again', async () => {
    let times = 0;
    const { address } = await serve((_, response) => {
      if (times++ < 2) response.socket?.resetAndDestroy();
      else json(response, { devices: [], count: 0 });
    });
    const client = clientOf(address);
    expect(await client.page('devices', 0, 10)).toEqual({ records: [], total: 0 });
    expect(times).toBe(3);
    await client.close();
  });

  test('that drips in slowly meets the total deadline', async () => {
    const clock = new DrivenClock();
    const { address } = await serve((_, response) => {
      response.writeHead(200);
      response.write('{"devices":[', () => clock.advance(10_000));
    });
    const client = clientOf(address, { clock, retries: 0 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_answer', 'too_slow']);
    await client.close();
  });

  test('that never comes says how long was waited in all, and how often', async () => {
    const clock = new HastyClock();
    const { address } = await serve(() => clock.advance(10_000));
    const client = clientOf(address, { clock, progressTimeoutMs: 25_000 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect(causeOf(error)).toBe('too_slow');
    expect(error.message).toBe('`GET /api/v1/devices`: no complete answer within 25000 ms, in 3 attempts');
    await client.close();
  });

  test.each([3_600_000, -3_600_000])('is waited for as long, by a clock that is set by %i ms meanwhile', async (ms) => {
    const clock = new HastyClock();
    const { address } = await serve(() => {
      clock.now += ms;
      clock.advance(10_000);
    });
    const client = clientOf(address, { clock, progressTimeoutMs: 25_000 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect(error.message).toBe('`GET /api/v1/devices`: no complete answer within 25000 ms, in 3 attempts');
    await client.close();
  });

  test('waits as long as Retry-After says, in seconds or as a date', async () => {
    const answers = ['2', 'Fri, 21 Nov 2025 04:40:03 GMT'];
    const { address } = await serve((_, response) => {
      const after = answers.shift();
      if (after === undefined) return json(response, { devices: [], count: 0 });
      json(response, {}, 429, { 'retry-after': after, date: 'Fri, 21 Nov 2025 04:40:00 GMT' });
    });
    const clock = new HastyClock();
    const client = clientOf(address, { clock });
    await client.page('devices', 0, 10);
    expect(clock.asked.filter((ms) => ms < 9_999)).toEqual([2_000 + 100, 3_000 + 200]);
    await client.close();
  });

  test('with a retry time beyond the deadline is given up at once', async () => {
    const { address, seen } = await serve((_, response) => json(response, {}, 429, { 'retry-after': '3600' }));
    const client = clientOf(address);
    const error = await errorOf(client.page('devices', 0, 10));
    expect(error.message).toContain('asks to wait 3600 s');
    expect(seen).toHaveLength(1);
    await client.close();
  });

  test('that keeps failing is reported with its last answer, without the key that the server echoes', async () => {
    const { address, seen } = await serve((_, response) => json(response, { Message: `boom ${KEY}` }, 500));
    const client = clientOf(address, { retries: 2 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect(error.message).toBe('`GET /api/v1/devices`: the server answered 500: boom [secret]');
    expect(seen).toHaveLength(3);
    await client.close();
  });

  test.each([
    [401, 'api_refused'],
    [403, 'api_forbidden'],
    [404, 'api_answer'],
    [400, 'api_answer'],
  ])('answered %i is %s, and requested once', async (status, code) => {
    const { address, seen } = await serve((_, response) => json(response, { Message: 'no' }, status));
    const client = clientOf(address);
    expect((await errorOf(client.page('devices', 0, 10))).code).toBe(code);
    expect(seen).toHaveLength(1);
    await client.close();
  });

  test('of a server that does not run is unreachable, in one line', async () => {
    const { address, close } = await serve(() => undefined);
    await close();
    const client = clientOf(address, { retries: 1 });
    const error = await errorOf(client.page('devices', 0, 10));
    expect([error.code, causeOf(error)]).toEqual(['api_unreachable', 'unreachable']);
    expect(error.message).toContain('refused');
    await client.close();
  });

  test('is ended by the signal, while it waits for the answer', async () => {
    const stop = new AbortController();
    const { address, seen } = await serve(() => stop.abort());
    const client = clientOf(address, { signal: stop.signal });
    expect((await errorOf(client.page('devices', 0, 10))).code).toBe('stopped');
    expect((await errorOf(client.page('devices', 0, 10))).code).toBe('stopped');
    expect(seen).toHaveLength(1);
    await client.close();
  });
});

describe('filtered reads', () => {
  const others = [{ SerialNumber: 'b', DeviceID: '1' }, { SerialNumber: 'a', DeviceID: '2' }, 'odd', { DeviceID: '3' }];

  test('filter again the answer of a server that ignores its filter', async () => {
    const { address, seen } = await serve((_, response) => json(response, others));
    const client = clientOf(address);
    expect(await client.devicesOfSerial('a')).toEqual([{ SerialNumber: 'a', DeviceID: '2' }]);
    expect(seen[0]?.query.get('Serialnumber')).toBe('a');
    await client.close();
  });

  test('find a service by its id, and nothing in `null`', async () => {
    const { address } = await serve(({ query }, response) =>
      json(response, query.get('ServiceID') === 'x' ? [{ ServiceID: 'y' }, { ServiceID: 'x', Port: 1 }] : 'null'),
    );
    const client = clientOf(address);
    expect(await client.service('x')).toEqual({ ServiceID: 'x', Port: 1 });
    expect(await client.service('z')).toBeUndefined();
    await client.close();
  });

  test('find a user whatever the case of the e-mail, the exact one first', async () => {
    const { address } = await serve((_, response) =>
      json(response, [{ Email: 'A@b' }, { Email: 'a@b' }, { Email: 'c' }]),
    );
    const client = clientOf(address);
    expect(await client.user('a@b')).toEqual({ Email: 'a@b' });
    expect(await client.user('a@B')).toEqual({ Email: 'A@b' });
    await client.close();
  });

  test('send a plus sign and a space so that every server reads them', async () => {
    const { address, seen } = await serve((_, response) => json(response, []));
    const client = clientOf(address);
    await client.user('a+b c@d|e&f');
    expect(seen[0]?.query.get('Email')).toBe('a+b c@d|e&f');
    await client.close();
  });
});

describe('events', () => {
  test('are asked for by the specification’s names', async () => {
    const { address, seen } = await serve((_, response) => json(response, { data: [{ id: 'e', created_at: 5 }] }));
    const client = clientOf(address);
    const events = await client.events({ order: 'ASC', afterMs: 1, beforeMs: 9, limit: 100, type: ['A', 'B'] });
    expect(events).toEqual([{ id: 'e', created_at: 5 }]);
    expect(Object.fromEntries(seen[0]?.query ?? [])).toEqual({
      order: 'ASC',
      after: '1',
      before: '9',
      limit: '100',
      type: 'A|B',
    });
    await client.close();
  });

  test('are none in null, and a count is a number', async () => {
    const { address, seen } = await serve(({ path }, response) =>
      json(response, path.endsWith('count') ? { data: 10_001 } : { data: null }),
    );
    const client = clientOf(address);
    expect(await client.events({})).toEqual([]);
    expect(await client.countEvents({ serviceName: 's', order: 'ASC', limit: 5 })).toBe(10_001);
    expect(Object.fromEntries(seen[1]?.query ?? [])).toEqual({ service_name: 's' });
    await client.close();
  });
});

test('the server’s clock is compared at every answer', async () => {
  const { address } = await serve((_, response) =>
    json(response, { data: [] }, 200, { date: 'Fri, 21 Nov 2025 04:45:00 GMT' }),
  );
  const client = clientOf(address);
  expect(client.skewMs()).toBeUndefined();
  await client.events({});
  expect(client.skewMs()).toBe(300_000);
  await client.close();
});
