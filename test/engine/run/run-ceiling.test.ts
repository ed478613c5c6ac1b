// test: the ceiling of a run: its own calls, those of its approved plan later, and those of its successors count
// together.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const PERSON = { by: 'ana', reason: 'known' };
const held = banRule({ id: 'held', mode: 'approve', field: 'Other' });
let on: OnPlatform;
afterEach(() => on.close());

function start(run: number, day: number): OnPlatform {
  const ceilings = { run: { max: run, percent: 0 }, day: { max: day, percent: 0 } };
  return startOnPlatform({
    rules: [banRule(), held],
    settings: (given) => ({
      ...given,
      decide: { ...given.decide, ceilings },
      act: { ...given.act, ceilings },
    }),
  });
}

function add(field: 'CompromisedStatus' | 'Other', ...ids: string[]): void {
  for (const id of ids) on.platform.addDevice(id, { MdmData: { [field]: 'TRUE' } });
}

async function sentByRun(): Promise<number[]> {
  const sent = await on.store.audit({ kind: 'intent.sent', limit: 100 });
  const counts = new Map<string, number>();
  for (const { bytes } of sent) {
    const { run } = (JSON.parse(bytes) as { body: { run: string } }).body;
    counts.set(run, (counts.get(run) ?? 0) + 1);
  }
  return [...counts.values()];
}

describe('a plan that a run made', () => {
  beforeEach(() => {
    on = start(2, 100);
  });

  it('counts together with its run for the ceiling of a run', async () => {
    add('CompromisedStatus', 'd1', 'd2');
    add('Other', 'd3', 'd4');
    const { plan } = await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    const { intents } = await on.apply(await on.approve(plan));
    expect(on.platform.effects).toHaveLength(2);
    expect(intents.map(({ status, note }) => [status, note])).toEqual([
      ['withdrawn', 'the ceiling of ban_device (in a run, or in 24 hours) is reached'],
      ['withdrawn', 'the ceiling of ban_device (in a run, or in 24 hours) is reached'],
    ]);
    expect(await sentByRun()).toEqual([2]);
  });

  it('is not held forever by the ceiling that another run reached', async () => {
    add('CompromisedStatus', 'd1', 'd2');
    add('Other', 'd3', 'd4');
    await on.apply(await on.approve((await on.run()).plan));
    await on.apply(await on.approve((await on.run()).plan));
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3', 'ban S-d4']);
    expect(await sentByRun()).toEqual([2, 2]);
  });

  it('counts what its run retried for an earlier one', async () => {
    add('CompromisedStatus', 'd1', 'd2');
    on.platform.answer('S-d1', 'lost');
    on.platform.answer('S-d2', 'lost');
    await on.run();
    on.clock.pass(QUIET_MS);
    add('Other', 'd3');
    const { plan } = await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    await on.apply(await on.approve(plan));
    expect(await sentByRun()).toEqual([2, 2]);
  });
});

describe('a release', () => {
  it('has a count of its own beside that of a run and its plan', async () => {
    on = start(1, 100);
    add('CompromisedStatus', 'd1');
    await on.run();
    add('CompromisedStatus', 'd2');
    await on.run();
    for (const target of ['S-d1', 'S-d2'])
      expect(await releaseClaims(on.engine, target, PERSON)).toMatchObject([{ state: 'released' }]);
    expect(await on.store.attemptsOfRun((await on.store.latestRun())?.id ?? '')).toEqual(new Map([['ban_device', 1]]));
  });

  it('stays within the ceiling of a day', async () => {
    on = start(2, 2);
    add('CompromisedStatus', 'd1', 'd2');
    await on.run();
    on.clock.pass(86_400_001);
    add('CompromisedStatus', 'd3');
    await on.run();
    const states = [];
    for (const target of ['S-d1', 'S-d2', 'S-d3'])
      states.push((await releaseClaims(on.engine, target, PERSON))[0]?.state);
    expect(states).toEqual(['released', 'released', 'standing']);
    expect(on.platform.effects.filter((effect) => effect.startsWith('unban'))).toHaveLength(2);
  });
});
