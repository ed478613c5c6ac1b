// test console: credentials: lifetimes, revocation, scopes and editions. In: a console whose tokens live for a minute.
// Out: tests of what each caller may do, and for how long.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEY_SCOPES } from '../../src/platform/contract.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';

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
