// test console: who is let in, by which credential, at which hosts and addresses.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ConsoleOptions } from '../../src/console/console.ts';
import { buildProgram } from '../../src/faces/cli/program.ts';
import { ENDPOINT_IDS, ENDPOINTS, KEY_SCOPES } from '../../src/platform/contract.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';
import { exchange } from '../support/raw-socket.ts';

describe('credentials', () => {
  let org: Organization;
  beforeEach(async () => {
    org = await openOrganization({ tokenLifetimeMs: 60_000 });
  });
  afterEach(() => org.console.close());

  const exchange = async (secret: string) =>
    (await org.call('POST', '/api/v1/refresh_token', undefined, `Bearer ${secret}`)).json.Message as string;
  const list = async (authorization: string | null) =>
    (await org.call('GET', '/api/v1/devices?Limit=0', undefined, authorization)).status;

  describe('access tokens', () => {
    it('are valid until the end of their lifetime', async () => {
      const token = await exchange(org.refreshToken);
      expect(await list(`Bearer ${token}`)).toBe(200);
      await org.clock.advance(59_000);
      expect(await list(`Bearer ${token}`)).toBe(200);
      await org.clock.advance(2_000);
      expect(await list(`Bearer ${token}`)).toBe(401);
    });

    it('expire at a whole second, whenever they were made', async () => {
      await org.clock.advance(123);
      const [, payload] = (await exchange(org.refreshToken)).split('.');
      const { iat, exp } = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
      expect([exp % 1, exp - iat]).toEqual([0, 60]);
    });

    it('end with the credential that they were made from', async () => {
      const key = org.console.issueApiKey('daemon', 'Admin');
      const token = await exchange(key);
      org.console.revokeApiKey('daemon');
      expect(await list(`Bearer ${token}`)).toBe(401);
      expect(await list(`Bearer ${key}`)).toBe(401);
    });

    it('of another console are refused', async () => {
      const other = await openOrganization();
      const token = (await other.call('POST', '/api/v1/refresh_token', undefined, `Bearer ${other.refreshToken}`)).json
        .Message;
      expect(await list(`Bearer ${token}`)).toBe(401);
      await other.console.close();
    });

    it('without a signature are refused', async () => {
      const [, payload] = (await exchange(org.refreshToken)).split('.');
      const header = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
      expect(await list(`Bearer ${header}.${payload}.`)).toBe(401);
    });
  });

  describe('API keys', () => {
    it('a fresh key of the same name replaces the former one', async () => {
      const former = org.console.issueApiKey('daemon', 'ReadOnly');
      const fresh = org.console.issueApiKey('daemon', 'ReadOnly');
      expect([await list(`Bearer ${former}`), await list(`Bearer ${fresh}`)]).toEqual([401, 200]);
    });

    const MAY_READ_DEVICES = new Set(['Admin', 'ReadOnly']);
    for (const scope of KEY_SCOPES) {
      it(`of the scope ${scope} ${MAY_READ_DEVICES.has(scope) ? 'read' : 'do not read'} devices`, async () => {
        const key = org.console.issueApiKey('key', scope);
        expect(await list(`Bearer ${key}`)).toBe(MAY_READ_DEVICES.has(scope) ? 200 : 403);
      });
    }

    it('ReadOnly changes nothing', async () => {
      org.console.fleet.addDevice({ serial: 'SN-READ-ONLY' });
      const key = org.console.issueApiKey('reader', 'ReadOnly');
      const before = org.console.effects().length;
      const answer = await org.call(
        'POST',
        '/api/v1/mdm/update_device?SerialNumber=SN-READ-ONLY',
        [{ Banned: 'TRUE' }],
        `Bearer ${key}`,
      );
      expect(answer.status).toBe(403);
      expect(answer.json.Message).toContain('ReadOnly');
      expect(org.console.effects()).toHaveLength(before);
    });

    it('EventWriter submits events and reads none', async () => {
      const key = `Bearer ${org.console.issueApiKey('writer', 'EventWriter')}`;
      expect((await org.call('POST', '/api/v1/events', { type: 'Audit' }, key)).status).toBe(200);
      expect((await org.call('GET', '/api/v1/events', undefined, key)).status).toBe(403);
    });

    it('without the scheme word are refused, with the right form in the message', async () => {
      const answer = await org.call('GET', '/api/v1/devices', undefined, org.apiKey);
      expect(answer.status).toBe(401);
      expect(answer.json.Message).toContain('Bearer');
    });
  });

  describe('the lower edition', () => {
    it('answers 403 for events and services, and everything else works', async () => {
      const basic = await openOrganization({ edition: 'basic' });
      const statuses: Record<string, number> = {};
      for (const path of ['events', 'events/count', 'events/feed', 'registered_services', 'devices', 'endusers']) {
        statuses[path] = (await basic.call('GET', `/api/v1/${path}`)).status;
      }
      expect(statuses).toEqual({
        events: 403,
        'events/count': 403,
        'events/feed': 403,
        registered_services: 403,
        devices: 200,
        endusers: 200,
      });
      await basic.console.close();
    });
  });
});

describe('which hosts it serves', () => {
  let org: Organization | undefined;
  afterEach(async () => {
    await org?.console.close();
    org = undefined;
  });

  async function asked(host: string, path = '/api/v1/devices', options: Partial<ConsoleOptions> = {}) {
    await org?.console.close();
    org = await openOrganization({ faults: true, ...options });
    const headers = { host, Authorization: `Bearer ${org.apiKey}` };
    const response = await org.console.app.request(path, { headers });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  describe('a host', () => {
    it.each(['evil.example', 'evil.example:8081', '127.0.0.1.evil.example', '192.168.0.7'])(
      'that a stranger pointed at the console is refused, also with a credential: %s',
      async (host) => {
        const answer = await asked(host);
        expect(answer.status).toBe(421);
        expect(answer.json.Message).toContain('--allowed-hosts');
        for (const path of ['/healthz', '/openapi.json', '/faults', '/no-such'])
          expect((await asked(host, path)).status).toBe(421);
      },
    );

    it('that is none is refused', async () => {
      expect(await asked('a@b')).toEqual({ status: 400, json: { Message: 'the Host header is not a host' } });
    });

    it('is refused in the envelope where errors come in it', async () => {
      const { status, json } = await asked('evil.example', '/api/v2/devices');
      expect(status).toBe(421);
      expect(json).toMatchObject({ error_code: 421, error_description: expect.stringContaining('evil.example') });
    });

    it('that is ours is served', async () => {
      for (const host of ['localhost:8081', '127.0.0.1', '[::1]:8081']) expect((await asked(host)).status).toBe(200);
      expect((await asked('console.example', undefined, { allowedHosts: ['console.example'] })).status).toBe(200);
    });

    it('may be any address, but no name, when the console listens on all addresses', async () => {
      const listen = { host: '0.0.0.0', port: 0 };
      expect((await asked('172.17.0.2:8081', undefined, { listen })).status).toBe(200);
      expect((await asked('evil.example', undefined, { listen })).status).toBe(421);
    });

    it('of a whole URL counts as well as the header', async () => {
      org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 } });
      const bytes = 'GET http://evil.example/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';
      const [answer] = await exchange(org.console.address, bytes);
      expect(answer?.status).toBe(421);
    });
  });

  describe('--allowed-hosts', () => {
    it('names the hosts that the console serves besides its own', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'console-hosts-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      let out = '';
      const statuses: (number | undefined)[] = [];
      const run = buildProgram({
        env: {},
        out: (text) => {
          out += text;
        },
        err: () => undefined,
        untilStopped: async () => {
          const address = /^LISTENING=(.*)$/m.exec(out)?.[1] ?? '';
          for (const host of ['one.example', 'two.example:8081', 'evil.example']) {
            const answers = await exchange(
              address,
              `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
            );
            statuses.push(answers[0]?.status);
          }
        },
      });
      const hosts = ['--allowed-hosts', 'one.example, two.example'];
      await run(['console', '--listen', '127.0.0.1:0', '--db', join(folder, 'console.db'), ...hosts]);
      expect(statuses).toEqual([200, 200, 421]);
    });
  });
});

describe('the addresses that only this server has', () => {
  let org: Organization;
  beforeEach(async () => {
    org = await openOrganization();
  });
  afterEach(() => org.console.close());

  describe('open addresses', () => {
    it('include health and the OpenAPI document', async () => {
      expect((await org.call('GET', '/healthz', undefined, null)).json).toEqual({ status: 'ok' });
      const document = await org.call('GET', '/openapi.json', undefined, null);
      expect(document.json.openapi).toMatch(/^3\.1/);
      for (const id of ENDPOINT_IDS) {
        expect(document.json.paths[ENDPOINTS[id].path]).toHaveProperty(ENDPOINTS[id].method.toLowerCase());
      }
    });
  });

  describe('addresses for judging a client', () => {
    for (const path of ['/notifications', '/certificates?SerialNumber=x', '/effects']) {
      it(`${path} needs a credential that reads everything`, async () => {
        expect((await org.call('GET', path, undefined, null)).status).toBe(401);
        const key = org.console.issueApiKey('writer', 'EventWriter');
        expect((await org.call('GET', path, undefined, `Bearer ${key}`)).status).toBe(403);
        expect((await org.call('GET', path)).json).toEqual({ data: [] });
      });
    }

    it('return effects after a number, in the order in which they happened', async () => {
      for (let each = 0; each < 3; each++) org.console.fleet.addDevice({ serial: `SN-${each}` });
      const all = (await org.call('GET', '/effects')).json.data as { seq: number }[];
      expect(all.map((each) => each.seq)).toEqual([1, 2, 3]);
      expect((await org.call('GET', '/effects?after=2')).json.data).toHaveLength(1);
      expect((await org.call('GET', '/effects?after=x')).status).toBe(400);
    });

    it('show a repeated ban as one effect and two writing requests', async () => {
      org.console.fleet.addDevice({ serial: 'SN-TWICE' });
      for (let each = 0; each < 2; each++) {
        await org.call('POST', '/api/v1/mdm/update_device?SerialNumber=SN-TWICE', [{ Banned: 'TRUE' }]);
      }
      expect(org.console.effects().filter((each) => each.kind === 'device_banned')).toHaveLength(1);
      expect(org.console.writes()).toHaveLength(2);
    });
  });
});
