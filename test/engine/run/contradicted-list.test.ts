// test: a list that shows our own act reversed, and the record itself, read singly, which does not: a doubt about the list, never a person's act.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

/** Every list of devices shows what it showed then; single records go on. */
function freezeList(): () => void {
  const { platform } = on;
  const old: Facts[] = [...platform.devices.values()].map((device) => structuredClone(device));
  const { pages, stream } = platform;
  platform.pages = async function* () {
    yield { records: old, total: old.length };
  };
  platform.stream = async function* () {
    yield old;
  };
  return () => Object.assign(platform, { pages, stream });
}

async function fleetWith(...compromised: string[]): Promise<void> {
  on = startOnPlatform({ rules: [banRule()] });
  for (let device = 1; device <= 400; device += 1) on.platform.addDevice(`d${device}`);
  for (const id of compromised) on.platform.compromised(id, 'TRUE');
}

const reasonsNow = async () =>
  (await on.store.runs(1))[0]?.findings?.snapshot.sources.devices.reasons.map(({ code }) => code);
const overridden = async () =>
  (await on.store.openState(on.clock.now)).episodes.filter(({ overriddenAt }) => overriddenAt !== undefined);
const later = async () => {
  on.clock.pass(QUIET_MS);
  return on.run();
};

describe('a list that shows our ban lifted', () => {
  it('is not trusted when the device itself is banned: no person did that, and the ban ends as usual afterwards', async () => {
    await fleetWith('d1');
    const thaw = freezeList();
    await on.run();
    for (let round = 0; round < 2; round += 1) {
      await later();
      expect(await reasonsNow()).toEqual(['contradicted']);
    }
    expect(await overridden()).toEqual([]);
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
    thaw();
    on.platform.compromised('d1', 'FALSE');
    await later();
    expect(await reasonsNow()).toEqual([]);
    on.platform.compromised('d1', 'TRUE');
    await later();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
  });

  it('is believed when the device itself is not banned', async () => {
    await fleetWith('d1');
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    await later();
    expect(await reasonsNow()).toEqual([]);
    expect(await overridden()).toHaveLength(1);
  });

  it('decides nothing while the device itself cannot be read', async () => {
    await fleetWith('d1');
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    const { devicesOfSerial } = on.platform;
    on.platform.devicesOfSerial = async () => {
      throw new AppError('api_unreachable', 'no answer');
    };
    const { decisions } = await later();
    expect(decisions.map(({ reason }) => reason)).toEqual(['in_doubt']);
    on.platform.compromised('d1', 'FALSE');
    await later();
    expect([await overridden(), await on.store.claims({ status: 'standing' })]).toMatchObject([[], [{}]]);
    Object.assign(on.platform, { devicesOfSerial });
    await later();
    expect(await on.store.claims({ status: 'overridden' })).toHaveLength(1);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is read again for a bounded number of devices in a run, and the others wait in doubt', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `d${at + 1}`);
    await fleetWith();
    on.engine.settings.decide.ceilings = on.engine.settings.act.ceilings = {
      run: { max: 1_000, percent: 100 },
      day: { max: 1_000, percent: 100 },
    };
    await on.run();
    for (const id of ids) {
      on.platform.compromised(id, 'TRUE');
      if (ids.indexOf(id) % 20 === 19) await later();
    }
    expect(on.platform.sent).toHaveLength(60);
    on.clock.pass(QUIET_MS);
    await on.run();
    for (const id of ids) on.platform.patch(id, { Banned: 'FALSE' });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toHaveLength(50);
    await on.run();
    expect(await overridden()).toHaveLength(60);
    expect(on.platform.sent).toHaveLength(60);
  });
});
