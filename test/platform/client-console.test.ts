// The client against the console over loopback: every endpoint once, the console's faults one by one, lists of version 2, and the library entry.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Console, startConsole } from '../../src/console/console.ts';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import type { Log } from '../../src/domain/ports.ts';
import * as library from '../../src/index.ts';
import { type ClientOptions, causeOf } from '../../src/platform/client/fault.ts';
import type { ManagementClient } from '../../src/platform/client.ts';
import { clientOf, DrivenClock, errorOf, gather, type Handler, json, listen, type Seen, serve } from './loopback.ts';

describe('The client against the console over loopback', () => {
  const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

  const LIFETIME_MS = 600_000;

  let server: Console;
  let client: ManagementClient;
  let consoleClock: DrivenClock;

  beforeEach(async () => {
    consoleClock = new DrivenClock();
    server = await startConsole({
      listen: { host: '127.0.0.1', port: 0 },
      dbFile: ':memory:',
      faults: true,
      tokenLifetimeMs: LIFETIME_MS,
      clock: consoleClock,
      log: silent,
    });
    for (let index = 0; index < 25; index++) {
      server.fleet.addDevice({ serial: `SN-${String(index).padStart(3, '0')}` }, [`user${index}@acme.example`]);
    }
    client = connect();
  });
  afterEach(async () => {
    await client.close();
    await server.close();
  });

  function connect(options: Partial<ClientOptions> = {}): ManagementClient {
    const secret = server.credentials?.apiKey ?? '';
    const adminToken = server.credentials?.adminToken;
    return clientOf(server.address, { credential: { kind: 'api_key', secret }, adminToken, ...options });
  }

  async function reconnect(options: Partial<ClientOptions>): Promise<void> {
    await client.close();
    client = connect(options);
  }

  const set = (...faults: FaultInput[]) => server.faults?.set(faults);
  const devices = () => gather(client.pages('devices', { pageSize: 10, concurrency: 3 }));
  const countOf = (pages: { records: unknown[] }[]) => pages.flatMap((page) => page.records).length;

  describe('every endpoint', () => {
    test('of devices and users is understood, in both versions', async () => {
      expect(countOf(await devices())).toBe(25);
      expect(countOf(await gather(client.pages('users', { pageSize: 7 })))).toBe(25);
      await reconnect({ lists: 'v2' });
      expect(countOf(await devices())).toBe(25);
      expect((await gather(client.stream('devices'))).flat()).toHaveLength(25);
      expect((await client.listDevices({ Skip: 5, Limit: 5 })).count).toBe(25);
      expect((await client.listEndusers({ Email: 'user3@acme.example' })).endusers).toHaveLength(1);
      const [device] = await client.devicesOfSerial('SN-003');
      expect(device).toMatchObject({ SerialNumber: 'SN-003', Banned: 'FALSE' });
      expect(await client.updateDevices('SN-003', [{ Banned: 'TRUE' }])).toMatchObject({
        kind: 'done',
        text: 'Success',
      });
      expect(await client.devicesOfSerial('SN-003')).toMatchObject([{ Banned: 'TRUE' }]);
      expect((await client.deleteDevice('SN-003', 'user3@acme.example')).kind).toBe('done');
      expect(await client.user('user3@acme.example')).toBeUndefined();
      expect((await client.user('USER4@acme.example'))?.SerialNumbers).toEqual(['SN-004']);
    });

    test('of services and bundles is understood', async () => {
      const spec = { metadata: { name: 'wiki', cluster: 'main', tags: { port: '443' } } };
      const created = await client.insertService(spec);
      const id = created.value?.ServiceID ?? '';
      expect(created).toMatchObject({ kind: 'done', value: { ServiceVersion: 1, Port: 443 } });
      expect((await client.disableService(id)).kind).toBe('done');
      expect(await client.service(id)).toMatchObject({ Enabled: 'FALSE' });
      expect((await client.enableService(id)).kind).toBe('done');
      expect(await client.listServices()).toMatchObject([{ ServiceID: id, Enabled: 'TRUE' }]);

      const bundle = (await client.createBundle({ bundle_name: 'all', service_ids: [] })).value?.id ?? '';
      expect((await client.addServiceToBundle(bundle, id)).kind).toBe('done');
      expect((await client.listBundles())?.map((each) => each.id)).toEqual([bundle]);
      expect((await client.removeServiceFromBundle(bundle, id)).kind).toBe('done');
      const [bound] = (await client.bundleServices(bundle, [id])).value?.bundled_services ?? [];
      expect(await client.listBundledServices()).toMatchObject([{ id: bound?.id }]);
      expect((await client.unbundleService(bound?.id ?? '')).kind).toBe('done');
      expect((await client.updateBundle(bundle, { bundle_name: 'renamed' })).value?.bundle_name).toBe('renamed');
      expect((await client.deleteBundle(bundle)).kind).toBe('done');
      expect((await client.deleteBundle(bundle)).kind).toBe('failed');
      expect((await client.deleteService(id)).kind).toBe('done');
    });

    test('of events is understood', async () => {
      const event = { type: 'Access', sub_type: 'Connection', action: 'Unauthorized', severity: 'ERROR' } as const;
      expect((await client.submitEvents([{ ...event, message: 'no' }])).kind).toBe('done');
      const found = await client.events({ type: 'Access', severity: 'ERROR', limit: 5 });
      expect(found).toMatchObject([{ ...event }]);
      expect(await client.countEvents({ type: ['Access', 'Threat'] })).toBe(1);
      expect((await client.feedEvents({ limit: 100 })).some((each) => each.id === found[0]?.id)).toBe(true);
      expect(await client.listEventTypes()).toBeDefined();
    });

    test('refuses a wrong parameter by its name', async () => {
      const error = await errorOf(client.listDevices({ Skip: 'x' }));
      expect(error.message).toContain('`Skip`');
    });
  });

  describe('with a refresh token', () => {
    beforeEach(() =>
      reconnect({ credential: { kind: 'refresh_token', secret: server.credentials?.refreshToken ?? '' } }),
    );
    const exchanges = () => server.faults?.status()[0]?.matched;
    // Never affects a request; it only counts.
    const watch: FaultInput = { kind: 'reset_before', rate: 0, match: { path: '/api/v1/refresh_token' } };

    test('a storm of 401s for 50 requests at once costs one exchange', async () => {
      const fifty = () => Promise.all(Array.from({ length: 50 }, () => client.events({})));
      await fifty();
      set(watch);
      // The one token of all expires: each of the fifty is refused with it, however late it arrives.
      consoleClock.advance(LIFETIME_MS);
      await fifty();
      expect(exchanges()).toBe(1);
    });

    test('an endless storm ends in `api_refused`', async () => {
      set({ kind: 'unauthorized', match: { path: '/api/v1/events' } });
      expect((await errorOf(client.events({}))).code).toBe('api_refused');
    });
  });

  describe('faults on reads', () => {
    test.each([
      ['an error', { kind: 'error', status: 503, times: 2 }],
      ['a busy server', { kind: 'rate_limited', retryAfterS: 1, times: 1 }],
      ['a reset', { kind: 'reset_before', times: 2 }],
      ['an answer cut off by its connection', { kind: 'truncated', how: 'connection', times: 2 }],
      ['a gzip body cut off', { kind: 'truncated', how: 'gzip', times: 2 }],
    ] as [string, FaultInput][])('%s that passes is survived', async (_, fault) => {
      set(fault);
      expect(countOf(await devices())).toBe(25);
    });

    test.each([
      ['a gzip body cut off', { kind: 'truncated', how: 'gzip' }, 'truncated'],
      ['JSON cut off', { kind: 'truncated', how: 'json' }, 'truncated'],
      ['an answer cut off', { kind: 'truncated', how: 'connection' }, 'truncated'],
      ['a packed bomb', { kind: 'bomb', megabytes: 8, gzip: true }, 'too_large'],
      ['a plain bomb', { kind: 'bomb', megabytes: 8, gzip: false }, 'too_large'],
      ['a redirect', { kind: 'redirect' }, 'redirect'],
      ['garbage', { kind: 'garbage' }, 'garbage'],
      ['a shift between pages', { kind: 'shift_pages', by: 1 }, 'shifted'],
      ['a shift backwards', { kind: 'shift_pages', by: -1 }, 'shifted'],
      ['a server error', { kind: 'error', status: 500 }, 'status'],
    ] as [string, FaultInput, string][])('%s is refused as such', async (_, fault, cause) => {
      await reconnect({ bytesMax: 2_000_000, retries: 1 });
      set(fault);
      const error = await errorOf(devices());
      expect([error.code, causeOf(error)]).toEqual(['api_answer', cause]);
    });

    test('a slow body meets the deadline', async () => {
      const clock = new DrivenClock();
      await reconnect({ clock, retries: 0 });
      set({ kind: 'slow_body', pieceBytes: 10, everyMs: 1_000 });
      const reading = errorOf(client.page('devices', 0, 10));
      // The console's clock stands still: after its first piece nothing comes until the client's time is up.
      await expect.poll(() => client.skewMs()).toBeDefined();
      clock.advance(10_000);
      expect(causeOf(await reading)).toBe('too_slow');
    });

    test('an ignored filter still gives only the wanted device', async () => {
      set({ kind: 'ignore_filter' });
      expect(await client.devicesOfSerial('SN-007')).toMatchObject([{ SerialNumber: 'SN-007' }]);
    });
  });

  describe('faults on writes', () => {
    const tries = () => server.faults?.status()[0]?.matched;

    test.each([
      ['a reset before the effect', { kind: 'reset_before' }],
      ['a reset after the effect', { kind: 'reset_after' }],
      ['an error after the effect', { kind: 'error', status: 500, effect: true }],
      ['garbage after the effect', { kind: 'garbage', effect: true }],
      ['an answer cut off', { kind: 'truncated', how: 'json' }],
    ] as [string, FaultInput][])('%s leaves a DELETE doubtful, and it leaves once', async (_, fault) => {
      await client.events({});
      set({ ...fault, match: { method: 'DELETE' } });
      expect((await client.deleteDevice('SN-001')).kind).toBe('doubtful');
      expect(tries()).toBe(1);
    });

    test('on a busy server fail, and are sent once', async () => {
      set({ kind: 'rate_limited', retryAfterS: 0, match: { method: 'DELETE' } });
      expect(await client.deleteDevice('SN-001')).toMatchObject({ kind: 'failed', status: 429 });
      expect(tries()).toBe(1);
    });

    test('on a silent server are doubtful when time is up', async () => {
      const clock = new DrivenClock();
      await reconnect({ clock });
      set({ kind: 'late_effect', ms: 60_000, answer: 'silence', match: { method: 'POST' } });
      const banning = client.updateDevices('SN-002', [{ Banned: 'TRUE' }]);
      await expect.poll(tries).toBe(1);
      clock.advance(10_000);
      expect((await banning).kind).toBe('doubtful');
    });
  });

  test('a time of 19 digits is the same in every form of the list', async () => {
    type Timed = { DeviceID: string; TrustData: { UpdatedAt: bigint } };
    const paged = (await devices()).flatMap((page) => page.records) as Timed[];
    const unpaged = (await gather(client.stream('devices'))).flat() as Timed[];
    const timesOf = (records: Timed[]) =>
      Object.fromEntries(records.map((each) => [each.DeviceID, each.TrustData.UpdatedAt]));
    expect(Object.values(timesOf(paged)).every((time) => typeof time === 'bigint')).toBe(true);
    expect(timesOf(unpaged)).toEqual(timesOf(paged));
  });
});

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

describe('The library entry', () => {
  test('a script reads a page with what the library gives it', async () => {
    const server = await listen((_, response) => json(response, '{"devices":[{"DeviceID":"d"}],"count":1}'));
    const client = new library.ManagementClient({
      address: server.address,
      credential: { kind: 'none' },
      clock: library.systemClock,
      random: library.systemRandom,
    });
    expect(await client.listDevices({ Skip: 0, Limit: 1 })).toEqual({ devices: [{ DeviceID: 'd' }], count: 1 });
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
    await client.close();
    await server.close();
  });
});
