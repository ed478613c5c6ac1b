// test console: a living organization: trouble comes and goes, gently, and the same for the same seed.
// In: a seed and a clock that tests move. Out: tests over the list of effects and the API.
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ConsoleOptions } from '../../src/console/console.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';

let org: Organization;
afterEach(() => org.console.close());

async function live(
  minutes: number,
  options: Partial<ConsoleOptions> = {},
  eachSecond?: () => Promise<void>,
): Promise<void> {
  org = await openOrganization({ seed: { seed: 1, events: 200 }, live: true, ...options });
  for (let second = 0; second < minutes * 60; second++) {
    await org.clock.advance(1_000);
    await eachSecond?.();
  }
}

const tally = () => {
  const counts: Record<string, number> = {};
  for (const { kind } of org.console.effects()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
};

describe('life', () => {
  it('on a disk that fails for a while tells its beginning and its end, not each second', async () => {
    const lines: string[] = [];
    const say = (_fields: object, message: string) => void lines.push(message);
    await live(0, { log: { debug: () => {}, info: say, warn: say, error: say } });
    const broken = vi.spyOn(Database.prototype, 'transaction').mockImplementation(() => {
      throw new Error('the disk is full');
    });
    for (let second = 0; second < 5; second += 1) await org.clock.advance(1_000);
    broken.mockRestore();
    for (let second = 0; second < 5; second += 1) await org.clock.advance(1_000);
    expect(lines).toEqual(['a moment of the living organization failed', 'the living organization goes on']);
  });

  it('devices become compromised and recover within 40 seconds, never more than two percent at once', async () => {
    const since = new Map<string, number>();
    let most = 0;
    let longestMs = 0;
    let seen = 0;
    await live(5, {}, async () => {
      for (const effect of org.console.effects().slice(seen)) {
        seen++;
        if (effect.kind === 'device_compromised') since.set(effect.target, effect.atMs);
        if (effect.kind === 'device_recovered') {
          longestMs = Math.max(longestMs, effect.atMs - (since.get(effect.target) ?? effect.atMs));
          since.delete(effect.target);
        }
      }
      most = Math.max(most, since.size);
    });
    expect(tally().device_compromised).toBeGreaterThan(15);
    expect(tally().device_recovered).toBeGreaterThan(12);
    expect(most).toBeLessThanOrEqual(8);
    expect(longestMs).toBeLessThanOrEqual(41_000);
  });

  it('a service fails with five or more errors within ten minutes, and not all of them do', async () => {
    await live(8);
    const services = (await org.call('GET', '/api/v1/registered_services')).json as { ServiceName: string }[];
    const after = org.clock.nowMs() - 600_000;
    const errors = [];
    for (const { ServiceName: name } of services) {
      const query = `service_name=${name}&severity=ERROR&sub_type=Resource&after=${after}`;
      errors.push((await org.call('GET', `/api/v1/events/count?${query}`)).json.data);
    }
    expect(errors.filter((count) => count >= 5).length).toBeGreaterThan(0);
    expect(errors.filter((count) => count === 0).length).toBeGreaterThan(4);
  });

  it('people log in, which moves their times', async () => {
    await live(1);
    const newest = (await org.call('GET', '/api/v1/endusers?Limit=1&OrderBy=lastlogin&Order=desc')).json.endusers[0];
    expect(newest.LastLogin).toBeGreaterThan((org.clock.nowMs() - 60_000) * 1e6);
  });

  it('a banned device is denied', async () => {
    await live(0);
    const devices = (await org.call('GET', '/api/v1/devices')).json as { SerialNumber: string }[];
    for (const serial of new Set(devices.map((each) => each.SerialNumber))) org.console.fleet.banByHand(serial, 'TRUE');
    for (let second = 0; second < 60; second++) await org.clock.advance(1_000);
    const after = org.clock.nowMs() - 55_000;
    const count = async (action: string) =>
      (await org.call('GET', `/api/v1/events/count?type=Identity&action=${action}&after=${after}`)).json.data;
    expect(await count('Deny')).toBeGreaterThan(5);
    expect(await count('Grant')).toBeLessThan(3);
  });

  it('an administrator steps in by hand', async () => {
    await live(12);
    expect(org.console.effects().some((each) => each.via === 'hand' && each.kind === 'device_banned')).toBe(true);
  });

  it('the same seed lives the same life', async () => {
    await live(2);
    const first = org.console.effects();
    await org.console.close();
    await live(2);
    expect(org.console.effects()).toEqual(first);
  });

  it('after an unban the device gets new certificates once it reports in', async () => {
    await live(0, { seed: { seed: 1, devices: 3, users: 2, events: 0 } });
    const devices = (await org.call('GET', '/api/v1/devices')).json as { SerialNumber: string }[];
    const serial = devices[0]?.SerialNumber ?? '';
    org.console.fleet.banByHand(serial, 'TRUE');
    org.console.fleet.banByHand(serial, 'FALSE');
    const states = async () =>
      ((await org.call('GET', `/certificates?SerialNumber=${serial}`)).json.data as { state: string }[]).map(
        (each) => each.state,
      );
    expect(await states()).not.toContain('valid');
    for (let second = 0; second < 300 && !(await states()).includes('valid'); second++) await org.clock.advance(1_000);
    expect(await states()).toContain('valid');
  });
});
