// test console: each fault does to a request what its name says, over real connections. In: one fault at a time. Out:
// tests of what a client sees, and of what really happened.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';

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
