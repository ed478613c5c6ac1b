// test: what happens between a look, its reads and its calls, and between two looks: a stop, a change and back, a dry whole run, a flood.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn } from '../../support/looks.ts';

let on: OnPlatform;
beforeEach(async () => {
  const rule = { ...banRule(), limits: { max: 3, percent: 100 } };
  on = startOnPlatform({ rules: [rule] });
  await addFleet(on, 20);
});
afterEach(() => on.close());

/** Done once, before the read of devices with this number is answered. */
function beforeRead(number: number, work: () => unknown): void {
  let reads = 0;
  on.engine.api = new Proxy(on.platform, {
    get: (platform, name) => {
      const value: unknown = Reflect.get(platform, name, platform);
      if (typeof value !== 'function') return value;
      if (name !== 'devicesOfSerial') return value.bind(platform);
      return async (...args: unknown[]) => {
        reads += 1;
        if (reads === number) await work();
        return value.apply(platform, args);
      };
    },
  });
}

describe('between a look and its call', () => {
  it('a device that is well again is left alone, and so it is by the next look', async () => {
    compromise(on, 'd1');
    beforeRead(2, () => on.platform.compromised('d1', 'FALSE'));
    await lookOn(on);
    on.platform.compromised('d1', 'TRUE');
    on.platform.compromised('d1', 'FALSE');
    addEvent(on, 'd1');
    await lookOn(on);
    expect(on.platform.sent).toEqual([]);
  });

  it('a stop holds the call', async () => {
    compromise(on, 'd1');
    beforeRead(2, () => on.store.setStop({ at: on.clock.now, by: 'ada', reason: 'drill' }, []));
    await lookOn(on);
    expect(on.platform.sent).toEqual([]);
    const [decision] = await on.store.decisions({ limit: 1 });
    expect(decision).toMatchObject({ decision: 'hold', reason: 'stopped' });
  });
});

describe('between two looks', () => {
  it('a dry whole run neither does anything nor lets a look do again what was done', async () => {
    compromise(on, 'd1', 'd2');
    await lookOn(on);
    await on.run('dry-run');
    addEvent(on, 'd1');
    addEvent(on, 'd2');
    await lookOn(on);
    compromise(on, 'd3');
    await lookOn(on);
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3']);
  });

  it('a dry whole run counts what it would do in the limits of later looks', async () => {
    for (const id of ['d1', 'd2', 'd3']) on.platform.compromised(id, 'TRUE');
    await on.run('dry-run');
    compromise(on, 'd4');
    await lookOn(on);
    expect(on.platform.sent).toEqual([]);
    const [decision] = await on.store.decisions({ limit: 1 });
    expect(decision).toMatchObject({ decision: 'hold', reason: 'limits' });
  });

  it('a rule that is edited and put back counts what it did before', async () => {
    const rule = { ...banRule(), limits: { max: 3, percent: 100 } };
    compromise(on, 'd1', 'd2', 'd3');
    await lookOn(on);
    on.rules({ ...banRule({ more: 'for: 10m' }), limits: { max: 3, percent: 100 } });
    compromise(on, 'd4');
    await lookOn(on);
    on.rules(rule);
    addEvent(on, 'd4');
    await lookOn(on);
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3']);
  });

  it('a device that a person unbanned is not banned again by another rule that matches it', async () => {
    const first = banRule({ id: 'one' });
    const second = banRule({ id: 'two' });
    on.rules(first, second);
    await on.run();
    compromise(on, 'd1');
    await lookOn(on);
    on.platform.patch('d1', { Banned: 'FALSE' });
    for (let look = 0; look < 3; look += 1) {
      on.clock.pass(30_000);
      addEvent(on, 'd1');
      await lookOn(on);
    }
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
});

describe('forged events', () => {
  it('of one id with another body and another time lead to one look at a subject', async () => {
    addEvent(on, 'd1', { id: 'same' });
    await lookOn(on);
    on.platform.compromised('d2', 'TRUE');
    on.platform.eventLog.pop();
    on.clock.pass(5_000);
    addEvent(on, 'd2', { id: 'same' });
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
    on.clock.pass(5_000);
    addEvent(on, 'd2');
    expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1 });
  });

  it('of before the overlap are not new', async () => {
    on.platform.compromised('d2', 'TRUE');
    addEvent(on, 'd2', { created_at: on.clock.now - 86_400_000 });
    on.platform.eventLog.sort((a, b) => Number(a.created_at) - Number(b.created_at));
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
  });
});
