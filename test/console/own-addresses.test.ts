// test console: the addresses that only this server has. In: callers with and without a credential. Out: tests of what
// they show, and to whom.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ENDPOINT_IDS, ENDPOINTS } from '../../src/platform/contract.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';

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
