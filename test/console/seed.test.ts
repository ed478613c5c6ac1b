// test console: a seeded organization: the same each time, and as odd as real ones. In: seeds and counts. Out: tests
// over what the API then shows.
import { describe, expect, it } from 'vitest';
import type { SeedOptions } from '../../src/console/seed/seed.ts';
import { openOrganization } from '../support/console-organization.ts';

const PATHS = ['/api/v1/devices', '/api/v1/endusers', '/api/v1/registered_services', '/api/v1/events?limit=10000'];

async function texts(seed: SeedOptions): Promise<string[]> {
  const org = await openOrganization({ seed });
  const all = [];
  for (const path of PATHS) all.push((await org.call('GET', path)).text);
  await org.console.close();
  return all;
}

describe('seeding', () => {
  it('gives the same organization for the same seed, byte for byte', async () => {
    const seed = { seed: 7, devices: 300, users: 180, services: 8, events: 400 };
    expect(await texts(seed)).toEqual(await texts(seed));
  });

  it('gives another organization for another seed', async () => {
    const [one] = await texts({ seed: 7, devices: 30 });
    const [other] = await texts({ seed: 8, devices: 30 });
    expect(other).not.toBe(one);
  });

  it('makes a small company by default', async () => {
    const org = await openOrganization({ seed: { seed: 1 } });
    const [devices, users, services, events] = await Promise.all([
      org.call('GET', '/api/v1/devices'),
      org.call('GET', '/api/v1/endusers'),
      org.call('GET', '/api/v1/registered_services'),
      org.call('GET', '/api/v1/events/count'),
    ]);
    expect([devices.json.length, users.json.length, services.json.length, events.json.data]).toEqual([
      400, 250, 12, 2_000,
    ]);
    await org.console.close();
  });

  it('compromises exactly the requested number of devices, each with a unique serial number', async () => {
    const org = await openOrganization({ seed: { seed: 2, devices: 2_000, users: 900, events: 0, compromised: 7 } });
    // biome-ignore lint/suspicious/noExplicitAny: records as they came
    const devices = (await org.call('GET', '/api/v1/devices')).json as any[];
    const found = devices.filter((each) => each.MdmData.CompromisedStatus === 'TRUE');
    expect(found).toHaveLength(7);
    for (const each of found) {
      expect(devices.filter((other) => other.SerialNumber === each.SerialNumber)).toHaveLength(1);
      expect(each.Banned).toBe('FALSE');
    }
    await org.console.close();
  });

  it('includes the odd devices of a real fleet', async () => {
    const org = await openOrganization({ seed: { seed: 3, devices: 2_000, users: 1_200, events: 0 } });
    // biome-ignore lint/suspicious/noExplicitAny: records as they came
    const devices = (await org.call('GET', '/api/v1/devices')).json as any[];
    const serials = devices.map((each) => each.SerialNumber);
    const has = (fits: (each: (typeof devices)[number]) => boolean) => expect(devices.some(fits)).toBe(true);
    has((each) => each.MdmData.Timestamp === 0);
    has((each) => each.SerialNumber === '');
    has((each) => each.SerialNumber === 'To Be Filled By O.E.M.');
    has((each) => each.SerialNumber.length > 7 && serials.filter((other) => other === each.SerialNumber).length === 2);
    has((each) => each.DeviceFriendlyName.includes('<script>'));
    has((each) => each.DeviceFriendlyName.includes(':1234567890123456789,'));
    has((each) => /\p{Script=Han}/u.test(each.DeviceFriendlyName));
    has((each) => /\p{Script=Arabic}/u.test(each.DeviceFriendlyName));
    has((each) => each.TrustData.Level === 'AlwaysDeny');
    has((each) => each.TrustData.Factors.length > 0);
    has((each) => each.Emails.length > 1);
    has((each) => each.LastLogin < (org.clock.nowMs() - 90 * 86_400_000) * 1e6);
    await org.console.close();
  });
});
