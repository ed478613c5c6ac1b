// test: on what a look rests, and when it rests or starts a whole run instead: nothing is done on doubt.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn, recordRequests } from '../../support/looks.ts';

let on: OnPlatform;
afterEach(() => on.close());

const forbidden = new AppError('api_forbidden', 'the server refuses this');
const unreachable = new AppError('api_unreachable', 'the server does not answer');

function eventsFail(error: AppError | undefined): void {
  const { platform } = on;
  on.engine.api = new Proxy(platform, {
    get: (target, name) => {
      if (name === 'events' && error)
        return async () => {
          throw error;
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('a look', () => {
  beforeEach(() => {
    on = startOnPlatform();
  });

  it('asks for nothing before a whole run was completed', async () => {
    const made = recordRequests(on);
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'no_whole_run' } });
    expect(made).toEqual([]);
  });

  it('does not take a run over chosen rules for a whole one', async () => {
    on.platform.addDevice('d1');
    await on.run('enforce', ['ban']);
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'no_whole_run' } });
  });

  it('rests when more than one scheduled run was missed', async () => {
    await addFleet(on, 5);
    compromise(on, 'd1');
    expect(await lookOn(on, { missed: 2 })).toMatchObject({ result: 'rest', reason: { code: 'runs_missed' } });
    expect((await lookOn(on, { missed: 1 })).result).toBe('acted');
  });

  it('rests while the last whole run could not trust the list', async () => {
    await addFleet(on, 40);
    for (let number = 11; number <= 40; number += 1) on.platform.devices.delete(`d${number}`);
    on.engine.settings.trust.shrunkPercent = 20;
    await on.run();
    compromise(on, 'd1');
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'untrusted' } });
    expect(on.platform.sent).toEqual([]);
  });

  it('rests after a 403 on events until a whole run has been completed', async () => {
    await addFleet(on, 5);
    compromise(on, 'd1');
    eventsFail(forbidden);
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'events_forbidden' } });
    eventsFail(undefined);
    const made = recordRequests(on);
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'events_forbidden' } });
    expect(made).toEqual([]);
    await on.run('dry-run');
    compromise(on, 'd2');
    expect((await lookOn(on)).result).toBe('acted');
  });

  it('asks for a whole run when the log cannot be read, and rests if none may be started', async () => {
    await addFleet(on, 5);
    eventsFail(unreachable);
    expect(await lookOn(on)).toMatchObject({ result: 'whole', reason: { code: 'source_failed' } });
    expect(await lookOn(on, { mayStartWhole: false })).toMatchObject({
      result: 'rest',
      reason: { code: 'source_failed' },
    });
  });

  it('ends with an error when the credential is refused', async () => {
    await addFleet(on, 5);
    eventsFail(new AppError('api_refused', 'unauthorized'));
    await expect(lookOn(on)).rejects.toMatchObject({ code: 'api_refused' });
  });

  it('acts on nothing when one subject cannot be read, and sees all of them again', async () => {
    await addFleet(on, 5);
    compromise(on, 'd1', 'd2');
    on.platform.readFault = unreachable;
    expect(await lookOn(on)).toMatchObject({ result: 'whole', unread: 2, reason: { code: 'source_failed' } });
    expect(on.platform.sent).toEqual([]);
    on.platform.readFault = undefined;
    expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 2, read: 2 });
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('waits for a whole run to resolve what a dead process left', async () => {
    await addFleet(on, 5);
    on.platform.onWrite = () => {
      throw new AppError('stopped', 'the process died');
    };
    compromise(on, 'd1');
    const { store } = on.engine;
    on.engine.store = new Proxy(store, {
      get: (target, name) => {
        if (name === 'settle')
          return async () => {
            throw new Error('the process died');
          };
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await expect(lookOn(on)).rejects.toThrow('the process died');
    on.engine.store = store;
    on.platform.onWrite = () => {};
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'no_whole_run' } });
    await on.run();
    expect((await lookOn(on)).result).toBe('nothing');
  });

  it('sees its events again when the process dies before the commit', async () => {
    await addFleet(on, 5);
    compromise(on, 'd1');
    const { store } = on.engine;
    on.engine.store = new Proxy(store, {
      get: (target, name) => {
        if (name === 'commitRun')
          return async () => {
            throw new Error('the process died');
          };
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await expect(lookOn(on)).rejects.toThrow('the process died');
    expect(await store.coverage()).toEqual([]);
    on.engine.store = store;
    expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1, named: 1 });
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
});

describe('more than 200 named subjects', () => {
  it('are left to a whole run, none of them is done, and no later look takes a part of them', async () => {
    on = startOnPlatform();
    await addFleet(on, 210);
    compromise(on, ...Array.from({ length: 201 }, (_, index) => `d${index + 1}`));
    expect(await lookOn(on)).toMatchObject({ result: 'whole', named: 201, reason: { code: 'many_subjects' } });
    on.clock.pass(30_000);
    addEvent(on, 'd205');
    const rest = { result: 'rest', reason: { code: 'many_subjects' } };
    expect(await lookOn(on, { mayStartWhole: false })).toMatchObject(rest);
    expect(on.platform.sent).toEqual([]);
    await on.run('dry-run');
    addEvent(on, 'd205');
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', named: 1 });
  });
});

describe('one fact that moves the same way', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `d${index + 1}`);

  beforeEach(async () => {
    on = startOnPlatform({ rules: [banRule({ more: 'owners: all' })], settings: (given) => given });
    on.engine.settings.trust.movedPoints = 20;
    await addFleet(on, 100);
  });

  it('in more than 10 subjects asks for a whole run, across looks', async () => {
    compromise(on, ...ids(10));
    expect((await lookOn(on)).result).toBe('acted');
    compromise(on, 'd11');
    expect(await lookOn(on)).toMatchObject({
      result: 'whole',
      reason: {
        code: 'fact_moved',
        text: 'MdmData.CompromisedStatus has moved the same way in 11 subjects since run 1',
      },
    });
    expect(on.platform.effects).toHaveLength(10);
  });

  it('goes on after the extra whole run up to what the trust gate allows, and rests beyond', async () => {
    compromise(on, ...ids(20));
    expect((await lookOn(on, { mayStartWhole: false })).result).toBe('acted');
    compromise(on, 'd21');
    expect(await lookOn(on, { mayStartWhole: false })).toMatchObject({
      result: 'rest',
      reason: { code: 'fact_moved' },
    });
    expect(on.platform.effects).toHaveLength(20);
  });
});
