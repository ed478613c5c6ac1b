// Lists and lookups of the client: pages that overlap, unpaged lists cut into elements as they come, servers that ignore a filter.
import { createGzip, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ElementSplitter } from '../../src/platform/client/element-splitter.ts';
import { causeOf } from '../../src/platform/client/fault.ts';
import { parseExact, stringifyExact } from '../../src/platform/contract.ts';
import { clientOf, DrivenClock, devicesOf, errorOf, gather, type Handler, json, listen, serve } from './loopback.ts';

describe('Lists of the client', () => {
  type Fleet = ReturnType<typeof devicesOf>;

  /** Serves pages; `cap` is its maximum, `count` the total that it reports. */
  function paging(
    fleet: () => Fleet,
    options: { cap?: number; count?: (page: Fleet) => number | undefined } = {},
  ): Handler {
    return ({ query }, response) => {
      const skip = Number(query.get('Skip'));
      const limit = Math.min(Number(query.get('Limit')), options.cap ?? Number.POSITIVE_INFINITY);
      const devices = fleet().slice(skip, skip + limit);
      json(response, { devices, count: options.count ? options.count(devices) : fleet().length });
    };
  }

  async function idsOf(client: ReturnType<typeof clientOf>, pageSize = 10, concurrency = 3): Promise<string[]> {
    const pages = await gather(client.pages('devices', { pageSize, concurrency }));
    return pages.flatMap((page) => page.records.map((record) => (record as Fleet[number]).DeviceID));
  }

  describe('pages', () => {
    test.each([0, 1, 2, 9, 10, 11, 18, 19, 20, 28, 29, 100, 101])(
      'of %i devices hold each once, in order',
      async (count) => {
        const fleet = devicesOf(count);
        const { address } = await serve(paging(() => fleet));
        const client = clientOf(address);
        expect(await idsOf(client)).toEqual(fleet.map((each) => each.DeviceID));
        await client.close();
      },
    );

    test.each([
      ['caps its pages', { cap: 4 }],
      ['caps its pages at one record', { cap: 1 }],
      ['gives no total', { count: () => undefined }],
      ['counts the page instead of the list', { count: (page: Fleet) => page.length }],
      ['caps its pages and counts them instead of the list', { cap: 4, count: (page: Fleet) => page.length }],
      ['caps its pages at one record and counts it', { cap: 1, count: (page: Fleet) => page.length }],
    ])('of a server that %s are complete', async (_, options) => {
      for (const size of [0, 1, 3, 4, 5, 10, 20, 37]) {
        const fleet = devicesOf(size);
        const { address, close } = await listen(paging(() => fleet, options));
        const client = clientOf(address);
        expect(await idsOf(client)).toEqual(fleet.map((each) => each.DeviceID));
        await client.close();
        await close();
      }
    });

    test('of a server without paging are the whole list', async () => {
      const { address } = await serve((_, response) => json(response, devicesOf(25)));
      const client = clientOf(address);
      expect(await idsOf(client)).toHaveLength(25);
      await client.close();
    });

    test('are never more than `concurrency` under way', async () => {
      const fleet = devicesOf(200);
      let now = 0;
      let most = 0;
      const { address } = await serve((one, response, request) => {
        most = Math.max(most, ++now);
        setImmediate(() => {
          now--;
          void paging(() => fleet)(one, response, request);
        });
      });
      const client = clientOf(address);
      expect(await idsOf(client, 10, 3)).toHaveLength(200);
      expect(most).toBeGreaterThan(1);
      expect(most).toBeLessThanOrEqual(3);
      await client.close();
    });

    test.each([
      ['a device is deleted on a page already read', (fleet: Fleet) => fleet.filter((_, index) => index !== 3)],
      ['a device appears on a page already read', (fleet: Fleet) => [{ DeviceID: 'new', SerialNumber: '0' }, ...fleet]],
      ['one goes and another comes', (fleet: Fleet) => [{ DeviceID: 'new', SerialNumber: '0' }, ...fleet.slice(0, -1)]],
      ['the list empties', () => []],
    ])('that shift because %s are refused by that name', async (_, change) => {
      let fleet = devicesOf(60);
      let reads = 0;
      const { address } = await serve((one, response, request) => {
        if (++reads === 3) fleet = change(fleet);
        void paging(() => fleet)(one, response, request);
      });
      const client = clientOf(address);
      const error = await errorOf(idsOf(client, 10, 1));
      expect([error.code, causeOf(error)]).toEqual(['api_answer', 'shifted']);
      await client.close();
    });

    test('of a server that repeats its first page for ever are refused', async () => {
      const { address } = await serve((_, response) => json(response, { devices: devicesOf(10), count: 10 }));
      const client = clientOf(address);
      expect(causeOf(await errorOf(idsOf(client)))).toBe('shifted');
      await client.close();
    });

    test('of a server that counts devices but gives none are refused', async () => {
      const { address } = await serve((_, response) => json(response, { devices: null, count: 10 }));
      const client = clientOf(address);
      expect(causeOf(await errorOf(idsOf(client)))).toBe('shifted');
      await client.close();
    });

    test('fail as a whole when one of them fails, and a reader that stops early ends the rest', async () => {
      const fleet = devicesOf(100);
      const { address } = await serve((one, response, request) =>
        one.query.get('Skip') === '27' ? json(response, {}, 403) : void paging(() => fleet)(one, response, request),
      );
      const client = clientOf(address);
      expect((await errorOf(idsOf(client))).code).toBe('api_forbidden');
      for await (const page of client.pages('devices', { pageSize: 10 })) {
        expect(page.total).toBe(100);
        break;
      }
      await client.close();
    });
  });

  describe('the unpaged list', () => {
    const big = `[${Array.from({ length: 3_000 }, (_, n) => `{"DeviceID":"d${n}","Note":"]},{[\\"${n}","LastLogin":176370000012345${String(n).padStart(4, '0')}}`).join(',')}]`;

    test.each([
      ['plain', (text: string) => Buffer.from(text), {}],
      ['gzip', (text: string) => gzipSync(text), { 'content-encoding': 'gzip' }],
    ] as const)('comes in batches with exact times (%s)', async (_, pack, headers) => {
      const { address, seen } = await serve((__, response) => {
        response.writeHead(200, headers);
        response.end(pack(big));
      });
      const client = clientOf(address);
      const batches = await gather(client.stream('devices'));
      expect(batches.length).toBeGreaterThan(1);
      expect(batches.flat()).toEqual(parseExact(big));
      expect([...(seen[0]?.query.keys() ?? [])]).toEqual([]);
      await client.close();
    });

    test.each([
      ['cut off after an element', '[1,2', 'truncated'],
      ['cut off after a comma', '[1,', 'truncated'],
      ['cut off inside a string', '["a', 'truncated'],
      ['empty', '', 'garbage'],
      ['followed by something', '[1] 2', 'garbage'],
      ['with a comma too many', '[1,]', 'garbage'],
      ['with nothing between commas', '[1,,2]', 'garbage'],
      ['closed by the wrong bracket', '[1}', 'garbage'],
      ['an object', '{"devices":[]}', 'garbage'],
      ['a word', 'nil', 'garbage'],
      ['nested 100,000 deep', '['.repeat(100_000), 'too_deep'],
      ['one endless record', `["${'x'.repeat(200_000)}"]`, 'too_large'],
    ])('that is %s is refused by name', async (_, body, cause) => {
      const { address } = await serve((__, response) => json(response, body));
      const client = clientOf(address, { bytesMax: 100_000 });
      const error = await errorOf(gather(client.stream('devices')));
      expect([error.code, causeOf(error)]).toEqual(['api_answer', cause]);
      await client.close();
    });

    test.each(['[]', ' [ ] \n', 'null', '\ufeff[]'])('%j is empty', async (body) => {
      const { address } = await serve((_, response) => json(response, body));
      const client = clientOf(address);
      expect((await gather(client.stream('services'))).flat()).toEqual([]);
      await client.close();
    });

    test('that comes compressed and cut off is refused', async () => {
      const packed = gzipSync(big);
      const { address } = await serve((_, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(packed.subarray(0, -20));
      });
      const client = clientOf(address);
      expect(causeOf(await errorOf(gather(client.stream('devices'))))).toBe('truncated');
      await client.close();
    });

    test('of endless elements ends at the cap', async () => {
      const { address } = await serve((_, response) => {
        response.writeHead(200);
        response.write('[1');
        const more = () => {
          while (!response.destroyed && response.write(',1'.repeat(10_000)));
          response.once('drain', more);
        };
        more();
      });
      const client = clientOf(address, { streamBytesMax: 3_000_000 });
      expect(causeOf(await errorOf(gather(client.stream('devices'))))).toBe('too_large');
      await client.close();
    });

    test('of endless elements that a filter should have left out ends at the bound, with its connection', async () => {
      let closed: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        closed = resolve;
      });
      let sent = 0;
      const { address } = await serve((_, response) => {
        response.on('close', closed);
        response.writeHead(200);
        response.write('[{"SerialNumber":"OTHER"}');
        const more = () => {
          while (!response.destroyed && sent++ < 500_000 && response.write(',{"SerialNumber":"OTHER"}'));
          if (sent < 500_000) response.once('drain', more);
          else response.end(']');
        };
        more();
      });
      const client = clientOf(address, { recordsMax: 20_000 });
      const error = await errorOf(client.devicesOfSerial('MINE'));
      expect(causeOf(error)).toBe('too_large');
      expect(error.message).toContain('the list has more than 20000 records');
      expect(sent).toBeLessThan(400_000);
      await ended;
      await client.close();
    });

    test('that drips without a new record is refused, however many bytes come', async () => {
      const clock = new DrivenClock();
      let drips = 0;
      const { address } = await serve((_, response) => {
        response.writeHead(200);
        response.write('[{"a":"');
        const drip = () => {
          if (response.destroyed || drips++ > 50) return;
          clock.advance(1_000);
          response.write('x', () => setImmediate(drip));
        };
        setImmediate(drip);
      });
      const client = clientOf(address, { clock });
      const error = await errorOf(gather(client.stream('devices')));
      expect(causeOf(error)).toBe('too_slow');
      expect(error.message).toBe('`GET /api/v1/devices`: no new record within 30000 ms');
      expect(drips).toBeLessThan(45);
      await client.close();
    });

    test('that falls silent within a record says how long was waited in all', async () => {
      const clock = new DrivenClock();
      const { address } = await serve((_, response) => {
        response.writeHead(200);
        response.write('[1,{"a":"');
        let drips = 0;
        const drip = () => {
          clock.advance(29_965 / 5);
          if (drips++ < 5) response.write('x', () => setTimeout(drip, 20));
        };
        setTimeout(drip, 20);
      });
      const client = clientOf(address, { clock });
      const error = await errorOf(gather(client.stream('devices')));
      expect(error.message).toBe('`GET /api/v1/devices`: no new record within 30000 ms');
      await client.close();
    });

    test('is tried again when the server is busy, and refused when it is forbidden', async () => {
      let times = 0;
      const { address } = await serve(({ path }, response) => {
        if (path.endsWith('services')) return json(response, { Message: 'not in this edition' }, 403);
        times++ === 0 ? json(response, {}, 503) : json(response, '[1]');
      });
      const client = clientOf(address);
      expect((await gather(client.stream('devices'))).flat()).toEqual([1]);
      const error = await errorOf(gather(client.stream('services')));
      expect(error.code).toBe('api_forbidden');
      expect(error.message).toContain('not in this edition');
      await client.close();
    });

    test.each(['identity', 'gzip'])('left early lets its connection go (%s)', async (encoding) => {
      let closed: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        closed = resolve;
      });
      const { address } = await serve((_, response) => {
        response.on('close', closed);
        response.writeHead(200, { 'content-encoding': encoding });
        if (encoding === 'identity') response.write('[1,2,');
        else {
          const packer = createGzip();
          packer.pipe(response);
          packer.write('[1,2,');
          packer.flush();
        }
      });
      const client = clientOf(address);
      for await (const batch of client.stream('devices')) {
        expect(batch).toEqual([1, 2]);
        break;
      }
      await ended;
      await client.close();
    });
  });

  test('cut anywhere, any list gives the same elements', () => {
    const lists = fc.array(fc.oneof(fc.jsonValue(), fc.bigInt()), { maxLength: 8 });
    fc.assert(
      fc.property(lists, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean(), (list, cuts, spaced) => {
        const text = spaced ? ` ${stringifyExact(list).replace(/^\[/, '[ ')}\n` : stringifyExact(list);
        const bytes = Buffer.from(text);
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
        const splitter = new ElementSplitter(1e6);
        const found: unknown[] = [];
        for (let index = 1; index < places.length; index++) {
          const part = splitter.push(bytes.subarray(places[index - 1], places[index]));
          if (part !== undefined) found.push(...part);
        }
        found.push(...(splitter.end() ?? []));
        expect(found).toEqual(parseExact(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe('Lookups of the client', () => {
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
});
