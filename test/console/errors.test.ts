// test console: errors: each has a `Message` and nothing internal, and each fault does to a request what its name says.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWN_ADDRESSES } from '../../src/console/console.ts';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import { ENDPOINT_IDS, ENDPOINTS, type Endpoint } from '../../src/platform/contract.ts';
import { type Answered, type Organization, openOrganization } from '../support/console-organization.ts';
import { exchange } from '../support/raw-socket.ts';

describe('the bodies of errors', () => {
  const HUGE = ' '.repeat(5 * 1_048_576);

  let org: Organization;
  let limited: string;
  beforeAll(async () => {
    org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 }, faults: true });
    limited = `Bearer ${org.console.issueApiKey('limited', 'satellite')}`;
  });
  afterAll(() => org.console.close());

  const ADDRESSES = ENDPOINT_IDS.flatMap((id) => {
    const endpoint: Endpoint = ENDPOINTS[id];
    return [endpoint.path, ...endpoint.aliases].map((path) => ({
      endpoint,
      path: path.replace(/\{\w+\}/g, 'no-such-one'),
      title: `${endpoint.method} ${path}`,
    }));
  });

  function expectMessage(answer: Pick<Answered, 'status' | 'json' | 'text'>, status: number): void {
    expect(answer.status, answer.text).toBe(status);
    expect(answer.json?.Message, answer.text).toEqual(expect.stringMatching(/\w/));
  }

  function expectShape({ json }: Answered, endpoint: Endpoint): void {
    if (endpoint.errors === 'message') {
      expect(Object.keys(json)).toEqual(['Message']);
      return;
    }
    expect(json).toMatchObject({ error_description: json.Message, request_id: expect.stringMatching(/./) });
    expect(json.error_code).toBeGreaterThan(0);
  }

  describe.each(ADDRESSES)('$title', ({ endpoint, path }) => {
    const { method } = endpoint;

    it('without a credential, and with a wrong one, is 401 with a Message', async () => {
      for (const authorization of [null, 'Bearer nobody', 'Basic eDp5', 'Bearer ']) {
        const answer = await org.call(method, path, undefined, authorization);
        expectMessage(answer, 401);
        expectShape(answer, endpoint);
      }
    });

    if (endpoint.auth !== 'refresh')
      it('beyond the scope of its credential is 403 with a Message', async () => {
        const answer = await org.call(method, path, undefined, limited);
        expectMessage(answer, 403);
        expectShape(answer, endpoint);
      });

    if (endpoint.body !== undefined)
      it('with a body that is wrong or too large is 400 or 413 with a Message', async () => {
        const bodies: [string, number][] = [
          ['{"half', 400],
          ['7', 400],
          ['"text"', 400],
          ['\uD800', 400],
          [HUGE, 413],
        ];
        for (const [body, status] of bodies) {
          const answer = await org.call(method, `${path}?SerialNumber=x`, body, org.adminToken);
          expectMessage(answer, status);
          expectShape(answer, endpoint);
        }
      });

    // Where nothing is required and any text is a value, none is wrong.
    const hasWrongValues = Object.values(endpoint.query.shape).some(
      (schema) => !schema.safeParse(undefined).success || !schema.safeParse('no-such-value').success,
    );
    if (hasWrongValues)
      it('with a wrong value of a parameter is 400 with a Message', async () => {
        const [name = ''] = Object.entries(endpoint.query.shape).flatMap(([each, schema]) =>
          schema.safeParse('no-such-value').success ? [] : [each],
        );
        const required = endpoint.method !== 'GET';
        const answer = await org.call(
          method,
          name === '' ? path : `${path}?${name}=no-such-value`,
          undefined,
          org.adminToken,
        );
        expectMessage(answer, name === '' && !required ? 200 : 400);
        expectShape(answer, endpoint);
      });

    it('by another method is 405 with a Message and the methods that are allowed', async () => {
      for (const other of ['PATCH', 'OPTIONS', 'FROB']) {
        const answer = await org.call(other, path);
        expectMessage(answer, 405);
        expect(answer.headers.get('allow')).toContain(method);
        expectShape(answer, endpoint);
      }
    });

    it('that fails, is refused by a limit or by the host is answered with a Message', async () => {
      for (const [fault, status] of [
        [{ kind: 'error', status: 500 }, 500],
        [{ kind: 'error', status: 503 }, 503],
        [{ kind: 'rate_limited', retryAfterS: 1 }, 429],
      ] as const) {
        org.console.faults?.set([{ ...fault, times: 1 }]);
        const answer = await org.call(method, path);
        expectMessage(answer, status);
        expectShape(answer, endpoint);
      }
      const foreign = await org.call(method, `http://evil.example${path}`);
      expectMessage(foreign, 421);
      expectShape(foreign, endpoint);
    });
  });

  describe('an address that does not exist', () => {
    const PATHS = [
      '/',
      '/api',
      '/api/v1/',
      '/api/v1/nothing',
      '/api/v2/nothing',
      '/api/v2/devices/1',
      '/api/v3/devices',
    ];
    const ENVELOPED = [
      '/experimental/v2',
      '/experimental/v2/nothing',
      '/api/experimental/v2/nothing',
      '/api/v2/bundles',
    ];
    it.each([...PATHS, ...ENVELOPED, '/%zz', '/%00', '//', '/api//v1/devices'])(
      '%s is 404 with a Message that leads to the document of those that exist',
      async (path) => {
        for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
          const answer = await org.call(method, `http://localhost${path}`);
          expectMessage(answer, 404);
          expect(answer.json.Message).toContain('/openapi.json');
        }
      },
    );

    it.each(ENVELOPED)('%s has the envelope too', async (path) => {
      expect((await org.call('GET', path)).json).toMatchObject({ error_code: 404, error_description: /openapi/ });
    });
  });

  describe("the console's own addresses", () => {
    it.each([...OWN_ADDRESSES.map(({ path }) => path), '/faults'])('%s refuses with a Message', async (path) => {
      expectMessage(await org.call('PATCH', path), 405);
      if (path === '/healthz' || path === '/openapi.json') return;
      expectMessage(await org.call('GET', path, undefined, null), 401);
      expectMessage(await org.call('GET', path, undefined, limited), 403);
    });
  });

  describe('what is hardly HTTP', () => {
    const HOST = 'Host: 127.0.0.1\r\n';
    it.each([
      ['no HTTP', 'hello\r\n\r\n', 400],
      ['an unknown version', `GET / HTTP/3.7\r\n${HOST}\r\n`, 400],
      ['no host', 'GET /api/v1/devices HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
      ['two lengths', `POST /api/v1/events HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
      ['large headers', `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['a tunnel', `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
      ['a target that is no path', `GET http:// HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, 400],
      ['a host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
      ['an expectation', `GET /nothing HTTP/1.1\r\n${HOST}Expect: miracles\r\nConnection: close\r\n\r\n`, 404],
    ])('%s is answered with a Message', async (_, bytes, status) => {
      const [answer] = await exchange(org.console.address, bytes);
      expect(answer?.status).toBe(status);
      expect(JSON.parse(answer?.body ?? '')).toEqual({ Message: expect.stringMatching(/\w/) });
      expect(answer?.headers.get('content-type')).toContain('application/json');
    });
  });
});

describe('internal failures, and unknown addresses', () => {
  let folder: string;
  let org: Organization;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'console-failures-'));
    org = await openOrganization({ dbFile: join(folder, 'console.db') });
  });
  afterEach(async () => {
    await org.console.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Breaks the database from another connection, as a damaged disk would. */
  function dropTable(name: string): void {
    const db = new Database(join(folder, 'console.db'));
    db.pragma('foreign_keys = OFF');
    db.exec(`DROP TABLE ${name}`);
    db.close();
  }

  const INTERNALS = /no such table|SQLITE|sqlite| at .*\.ts/;

  describe('a console whose database is broken', () => {
    it.each([
      ['service', 'GET', '/api/v1/registered_services', undefined],
      ['service', 'POST', '/api/v1/insert_registered_service', { metadata: { name: 'a', cluster: 'c' } }],
      ['device', 'GET', '/api/v1/devices', undefined],
      ['device', 'GET', '/api/v1/devices?Skip=0&Limit=5', undefined],
      ['device', 'POST', '/api/v1/mdm/update_device?SerialNumber=SN-BROKEN', [{ Banned: 'TRUE' }]],
    ])('without the table %s answers %s %s with 500 and a Message, and logs why', async (table, method, path, body) => {
      org.console.fleet.addDevice({ serial: 'SN-BROKEN' });
      dropTable(table);
      const answer = await org.call(method, path, body);
      expect(answer.status).toBe(500);
      expect(answer.json).toEqual({ Message: expect.stringMatching(/./) });
      expect(answer.text).not.toMatch(INTERNALS);
      expect(JSON.stringify(org.errors)).toContain(`no such table: ${table}`);
    });

    it.each([
      ['GET', '/experimental/v2/bundle', undefined],
      ['POST', '/experimental/v2/bundle', { bundle_name: 'b' }],
    ])('answers %s %s with 500 inside the envelope, and logs why', async (method, path, body) => {
      dropTable('bundle');
      const answer = await org.call(method, path, body, org.adminToken);
      expect(answer.status).toBe(500);
      expect(answer.json).toEqual({
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        error_code: 500,
        Message: expect.any(String),
        error_description: expect.stringMatching(/./),
        data: {},
      });
      expect(answer.text).not.toMatch(INTERNALS);
      expect(JSON.stringify(org.errors)).toContain('no such table');
    });
  });

  describe('an address below the bundles', () => {
    it.each([
      [404, 'GET', '/experimental/v2/no_such_address'],
      [405, 'PATCH', '/experimental/v2/bundle'],
    ])('that is %i answers in an envelope with a request id', async (status, method, path) => {
      const answer = await org.call(method, path, undefined, org.adminToken);
      expect(answer.status).toBe(status);
      expect(answer.json.error_code).toBe(status);
      expect(answer.json.request_id).toMatch(/^[0-9a-f-]{36}$/);
    });
  });

  describe('two services whose name and cluster join to one ServiceID', () => {
    it('the second is 400 and named; the first stays, and can be updated', async () => {
      const insert = (name: string, cluster: string) =>
        org.call('POST', '/api/v1/insert_registered_service', { metadata: { name, cluster } });
      expect((await insert('a.b', 'c')).status).toBe(200);
      const refused = await insert('a', 'b.c');
      expect([refused.status, refused.json.Message]).toEqual([400, expect.stringContaining('`metadata.name`')]);
      expect((await insert('a.b', 'c')).json.ServiceVersion).toBe(2);
      expect(org.errors).toEqual([]);
    });

    it('the second is created once the first is deleted', async () => {
      const insert = (name: string, cluster: string) =>
        org.call('POST', '/api/v1/insert_registered_service', { metadata: { name, cluster } });
      const { ServiceID } = (await insert('a.b', 'c')).json;
      await org.call('DELETE', `/api/v1/delete_registered_service?ServiceID=${ServiceID}`);
      expect((await insert('a', 'b.c')).json).toMatchObject({ ServiceID, ServiceName: 'a', ClusterName: 'b.c' });
    });
  });
});

describe('each fault does to a request what its name says, over real connections', () => {
  let org: Organization;
  let serial: string;

  beforeEach(async () => {
    org = await openOrganization({ faults: true, listen: { host: '127.0.0.1', port: 0 } });
    serial = 'SN-FAULT-1';
    org.console.fleet.addDevice({ serial }, ['ada@acme.example']);
    for (let each = 2; each < 30; each++) org.console.fleet.addDevice({ serial: `SN-FAULT-${each + 10}` });
  });
  afterEach(() => org.console.close());

  const set = (...faults: FaultInput[]) => org.console.faults?.set(faults);
  const headers = () => ({ Authorization: `Bearer ${org.apiKey}` });
  const fetchIt = (address: string, init: RequestInit = {}) =>
    fetch(org.console.address + address, { headers: headers(), redirect: 'manual', ...init });
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever came
  const fetchJson = async (address: string): Promise<any> => (await fetchIt(address)).json();
  const ban = () =>
    fetchIt(`/api/v1/mdm/update_device?SerialNumber=${serial}`, { method: 'POST', body: '[{"Banned":"TRUE"}]' });
  const isBanned = async () =>
    (await org.call('GET', `/effects`)).json.data.some((each: { kind: string }) => each.kind === 'device_banned');

  describe('faults on writes', () => {
    it('a connection reset before the effect leaves the device as it was', async () => {
      set({ kind: 'reset_before', match: { path: '/api/v1/mdm' } });
      await expect(ban()).rejects.toThrow();
      expect(await isBanned()).toBe(false);
    });

    it('a connection reset after the effect leaves the device banned', async () => {
      set({ kind: 'reset_after', match: { method: 'POST' } });
      await expect(ban()).rejects.toThrow();
      expect(await isBanned()).toBe(true);
    });

    it('an error before the effect has none, an error after it has', async () => {
      set({ kind: 'error', status: 500, times: 1 });
      expect((await ban()).status).toBe(500);
      expect(await isBanned()).toBe(false);
      set({ kind: 'error', status: 502, effect: true });
      expect((await ban()).status).toBe(502);
      expect(await isBanned()).toBe(true);
    });

    it('a late effect comes at its time, and not before', async () => {
      set({ kind: 'late_effect', ms: 5_000, match: { method: 'POST' } });
      await expect(ban()).rejects.toThrow();
      await org.clock.advance(4_999);
      expect(await isBanned()).toBe(false);
      await org.clock.advance(1);
      await expect.poll(isBanned).toBe(true);
      const { atMs = 0, receivedMs = 0 } = org.console.writes().at(-1) ?? {};
      expect(atMs - receivedMs).toBe(5_000);
    });

    it('a 200 that is not a success has no effect', async () => {
      set({ kind: 'garbage', body: '[{"Message":"the device is busy"}]' });
      expect(await (await ban()).json()).toEqual([{ Message: 'the device is busy' }]);
      expect(await isBanned()).toBe(false);
    });
  });

  describe('faults on reads', () => {
    it('a stale read shows the device as it was when the fault was set', async () => {
      set({ kind: 'stale_read', match: { path: '/api/v1/devices' } });
      await ban();
      const stale = await fetchJson(`/api/v1/devices?SerialNumber=${serial}`);
      expect(stale[0].Banned).toBe('FALSE');
      org.console.faults?.clear();
      const fresh = await fetchJson(`/api/v1/devices?SerialNumber=${serial}`);
      expect(fresh[0].Banned).toBe('TRUE');
    });

    it('a stale read works on a database in a file as well', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'console-stale-'));
      const filed = await openOrganization({ faults: true, dbFile: join(folder, 'console.db') });
      filed.console.fleet.addDevice({ serial: 'SN-STALE' });
      filed.console.faults?.set([{ kind: 'stale_read' }]);
      filed.console.fleet.banByHand('SN-STALE', 'TRUE');
      const banned = async () => (await filed.call('GET', '/api/v1/devices?SerialNumber=SN-STALE')).json[0].Banned;
      expect(await banned()).toBe('FALSE');
      filed.console.faults?.clear();
      expect(await banned()).toBe('TRUE');
      await filed.console.close();
      rmSync(folder, { recursive: true });
    });

    it('a body cut on the wire breaks the reading', async () => {
      set({ kind: 'truncated' });
      await expect(fetchIt('/api/v1/devices').then((response) => response.text())).rejects.toThrow();
    });

    it('cut JSON arrives whole on the wire and does not parse', async () => {
      set({ kind: 'truncated', how: 'json' });
      const text = await (await fetchIt('/api/v1/devices')).text();
      expect(() => JSON.parse(text)).toThrow();
    });

    it('cut gzip declares itself as gzip', async () => {
      set({ kind: 'truncated', how: 'gzip' });
      const answer = await org.call('GET', '/api/v1/devices');
      expect(answer.headers.get('content-encoding')).toBe('gzip');
    });

    it('a storm of 401 hits every request until it ends', async () => {
      set({ kind: 'unauthorized', times: 2 });
      const statuses = [];
      for (let each = 0; each < 3; each++) statuses.push((await fetchIt('/api/v1/devices?limit=1')).status);
      expect(statuses).toEqual([401, 401, 200]);
    });

    it('429 has the time for a retry', async () => {
      set({ kind: 'rate_limited', retryAfterS: 7 });
      const answer = await fetchIt('/api/v1/devices?limit=1');
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7']);
    });

    it('shifted pages miss a record', async () => {
      set({ kind: 'shift_pages', by: 1 });
      const first = await fetchJson('/api/v1/devices?skip=0&limit=10');
      const second = await fetchJson('/api/v1/devices?skip=10&limit=100');
      expect(first.devices.length + second.devices.length).toBe(first.count - 1);
    });

    it('an ignored filter gives every device', async () => {
      set({ kind: 'ignore_filter' });
      const devices = await fetchJson(`/api/v1/devices?SerialNumber=${serial}`);
      expect(devices.length).toBe(29);
    });

    it('a bomb unpacks to more than it weighs', async () => {
      set({ kind: 'bomb', megabytes: 3 });
      const text = await (await fetchIt('/api/v1/devices')).text();
      expect(text.length).toBe(3 * 1_048_576 + 2);
    });

    it('a slow body comes in pieces, each at its time', async () => {
      set({ kind: 'slow_body', pieceBytes: 10, everyMs: 100 });
      const response = await fetchIt('/api/v1/devices?limit=0');
      const reading = response.text();
      for (let each = 0; each < 10; each++) await org.clock.advance(100);
      expect(JSON.parse(await reading)).toEqual({ devices: [], count: 29 });
    });

    it('a redirect is sent as one', async () => {
      set({ kind: 'redirect' });
      const answer = await fetchIt('/api/v1/devices');
      expect([answer.status, answer.headers.get('location')]).toEqual([307, '/elsewhere']);
    });

    it('a rate affects the same requests each time', async () => {
      const statuses = async () => {
        set({ kind: 'error', status: 500, rate: 0.5 });
        const all = [];
        for (let each = 0; each < 20; each++) all.push((await org.call('GET', '/api/v1/devices?limit=0')).status);
        return all;
      };
      const first = await statuses();
      expect(await statuses()).toEqual(first);
      expect(new Set(first)).toEqual(new Set([200, 500]));
    });
  });

  describe('the address of faults', () => {
    const asked = (method: string, body?: unknown) => org.call(method, '/faults', body, `Bearer ${org.adminToken}`);

    it('sets, shows and clears them', async () => {
      const put = await asked('PUT', [{ kind: 'latency', ms: 10, match: { path: '/nowhere' } }]);
      expect(put.status).toBe(200);
      expect((await asked('GET')).json.data).toHaveLength(1);
      expect((await asked('DELETE')).json.data).toEqual([]);
    });

    it('refuses an invalid plan, and names the mistake', async () => {
      const answer = await asked('PUT', [{ kind: 'error', status: 200 }]);
      expect(answer.status).toBe(400);
      expect(answer.json.Message).toContain('status');
    });

    it('refuses every caller without the admin token, and changes nothing for them', async () => {
      await asked('PUT', [{ kind: 'latency', ms: 10, match: { path: '/nowhere' } }]);
      const reader = org.console.issueApiKey('reader', 'ReadOnly');
      const access = (await org.call('POST', '/api/v1/refresh_token', undefined, `Bearer ${org.refreshToken}`)).json
        .Message;
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? [] : undefined;
        for (const secret of [reader, org.apiKey, access])
          expect((await org.call(method, '/faults', body, `Bearer ${secret}`)).status).toBe(403);
        for (const none of [null, 'Bearer wrong', `Bearer ${org.refreshToken}`])
          expect((await org.call(method, '/faults', body, none)).status).toBe(401);
      }
      expect((await asked('GET')).json.data).toHaveLength(1);
    });

    it('does not exist unless enabled', async () => {
      const plain = await openOrganization();
      expect((await plain.call('PUT', '/faults', [], `Bearer ${plain.adminToken}`)).status).toBe(404);
      await plain.console.close();
    });
  });
});
