// test: effects that come later than the configured quiet period: the period grows with the latency of the API.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCycle } from '../../../src/engine/cycle.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
beforeEach(() => {
  on = startOnPlatform();
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  on.platform.timeoutMs = 10_000;
  on.restart();
  on.platform.lateMs = 30_000;
});
afterEach(() => on.close());

const outcomes = async () => (await on.intents()).map(({ outcome }) => outcome);

describe('a platform that is 30 s slow', () => {
  it('bans a device once: its effect is waited for', async () => {
    on.platform.answer('S-d1', 'slow', 'slow');
    for (let round = 0; round < 6; round += 1) {
      await on.run();
      on.clock.pass(QUIET_MS);
    }
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(on.platform.sent).toHaveLength(1);
    expect(await outcomes()).toEqual(['confirmed']);
  });
});

describe('a process that ends while a platform is 30 s slow', () => {
  it.each(['before', 'after'])('%s its call has an outcome: the next one bans no device twice', async (when) => {
    const { store } = on.engine;
    on.platform.answer('S-d1', 'slow', 'slow');
    const settle = store.settle.bind(store);
    store.settle = async (settled) => {
      if (when === 'before') throw new Error('the process ends here');
      return settle(settled);
    };
    await on.run().catch(() => {});
    store.settle = settle;
    for (let round = 0; round < 6; round += 1) {
      on.restart();
      await on.run();
      on.clock.pass(QUIET_MS);
    }
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(on.platform.sent).toHaveLength(1);
  });
});

describe('a one-shot run on a platform that is 30 s slow', () => {
  it('waits for the effect, and finds it done', async () => {
    on.platform.answer('S-d1', 'slow', 'slow');
    await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
    expect(await outcomes()).toEqual(['confirmed']);
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
});

describe('an effect that comes later than the period in force', () => {
  it('is repeated once, and both calls are audited', async () => {
    on.platform.lateMs = 300_000;
    on.platform.answer('S-d1', 'slow', 'done');
    for (let round = 0; round < 30; round += 1) {
      await on.run();
      on.clock.pass(QUIET_MS);
    }
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d1']);
    const sent = await on.store.audit({ kind: 'intent.sent', limit: 10 });
    expect(sent).toHaveLength(2);
  });
});
