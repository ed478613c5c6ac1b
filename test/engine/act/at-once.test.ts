// test: several intents at once: what never goes at the same time, how ceilings, breaker and stop hold meanwhile, and whom an intent touches.
import { afterEach, describe, expect, it } from 'vitest';
import { giveWay } from '../../../src/base/turns.ts';
import type { Action } from '../../../src/domain/action.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { TargetReads, WriteAnswer } from '../../../src/domain/ports.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { Door } from '../../../src/engine/act/door.ts';
import { ownersJustRead, sideBySide, type Touching, touchedBy } from '../../../src/engine/act/resolve.ts';
import type { EngineSettings } from '../../../src/engine/run/engine.ts';
import { banRule, type OnPlatform, type Options, startOnPlatform } from '../../support/engine-on-platform.ts';
import { OpenCalls } from '../../support/open-calls.ts';

describe('several intents at once', () => {
  const LIFT = 8;
  let on: OnPlatform;
  let calls: OpenCalls;

  function start(change: Partial<EngineSettings['act']> = {}, options: Options = {}): void {
    const settings = (given: EngineSettings): EngineSettings => ({
      ...given,
      act: { ...given.act, runFailuresMax: 1_000, concurrency: LIFT, ...change },
    });
    on = startOnPlatform({ ...options, settings });
    calls = new OpenCalls(on.platform);
  }
  afterEach(() => on.close());

  const compromised = { MdmData: { CompromisedStatus: 'TRUE' } };
  function compromise(count: number): void {
    for (let index = 0; index < count; index += 1) on.platform.addDevice(`d${10 + index}`, compromised);
  }

  const REFUSED: WriteAnswer = { kind: 'failed', status: 403, text: 'forbidden' };
  const FAILED: WriteAnswer = { kind: 'failed', status: 400, text: 'refused' };
  const LOST: WriteAnswer = { kind: 'doubtful', status: undefined, text: 'the connection was reset' };
  const UNAUTHORIZED: WriteAnswer = { kind: 'failed', status: 401, text: 'unauthorized' };

  const states = async () =>
    (await on.intents()).map(({ target, status, outcome }) => `${target} ${outcome ?? status}`).sort();

  describe('targets', () => {
    it('go as many at once as the setting says, and each is done once', async () => {
      start();
      compromise(20);
      const run = on.run();
      await calls.open(LIFT);
      expect(calls.targets).toHaveLength(LIFT);
      await calls.answerAllUntil(run);
      expect(calls.mostAtOnce).toBe(LIFT);
      expect([...on.platform.effects].sort()).toEqual(Array.from({ length: 20 }, (_, index) => `ban S-d${10 + index}`));
    });

    it('go one after the other with a setting of one, in the order of the decisions', async () => {
      start({ concurrency: 1 });
      compromise(5);
      await calls.answerAllUntil(on.run());
      expect(calls.mostAtOnce).toBe(1);
      expect(on.platform.effects).toEqual([0, 1, 2, 3, 4].map((index) => `ban S-d${10 + index}`));
    });

    it('that share an owner never go at once, also where only the record just read shows the owner', async () => {
      start();
      const owned = (owner: string) => ({ ...compromised, Emails: [owner] });
      for (const id of ['d1', 'd2', 'd3'])
        on.platform.addDevice(id, owned(id === 'd2' ? 'ANA@main.test' : 'ana@main.test'));
      on.platform.addDevice('d4', owned('bob@main.test'));
      on.rules(banRule({ more: 'owners: all' }));
      const run = on.run();
      await calls.open(2);
      expect(calls.targets.sort()).toEqual(['S-d1', 'S-d4']);
      await calls.answerAllUntil(run);
      expect(calls.mostOf((target) => target !== 'S-d4')).toBe(1);
      expect(on.platform.effects).toHaveLength(4);
    });

    it('of one subject never go at once: the second action waits for the first, and others pass it', async () => {
      start();
      on.rules(banRule(), banRule({ id: 'tell', does: 'notify' }));
      compromise(3);
      const run = on.run();
      await calls.open(3);
      await settled();
      expect(await states()).toEqual(
        ['d10 planned', 'd11 planned', 'd12 planned', 'S-d10 sent', 'S-d11 sent', 'S-d12 sent'].sort(),
      );
      await calls.answerAllUntil(run);
      expect((await states()).every((state) => state.endsWith(' succeeded'))).toBe(true);
    });
  });

  describe('a ceiling', () => {
    it('is never passed by calls that are under way at once, and the rest is held', async () => {
      const ceilings = { run: { max: 5, percent: 0 }, day: { max: 100, percent: 100 } };
      start({ ceilings });
      compromise(12);
      const run = on.run();
      await calls.open(5);
      await settled();
      expect(calls.targets).toHaveLength(5);
      await calls.answerAllUntil(run);
      expect(on.platform.sent).toHaveLength(5);
      const { decisions } = await run;
      expect(decisions.filter(({ reason }) => reason === 'ceiling')).toHaveLength(7);
    });

    it('of 24 hours counts calls that are under way too', async () => {
      const ceilings = { run: { max: 100, percent: 100 }, day: { max: 3, percent: 0 } };
      start({ ceilings });
      compromise(6);
      await calls.answerAllUntil(on.run());
      expect(on.platform.sent).toHaveLength(3);
      expect(await on.store.attemptsSince('ban_device', 0)).toBe(3);
    });

    it('gives the place of a call that was refused to one that waits for it', async () => {
      const ceilings = { run: { max: 2, percent: 0 }, day: { max: 100, percent: 100 } };
      start({ ceilings });
      compromise(3);
      const run = on.run();
      await calls.open(2);
      const [refused, other] = calls.targets as [string, string];
      calls.answer(refused, REFUSED);
      await calls.open(2);
      expect(calls.targets).toHaveLength(2);
      expect(calls.targets).not.toContain(refused);
      expect(calls.targets).toContain(other);
      await calls.answerAllUntil(run);
      expect(on.platform.effects).toHaveLength(2);
    });

    it('gives the place of an intent that was withdrawn to the next one', async () => {
      const ceilings = { run: { max: 2, percent: 0 }, day: { max: 100, percent: 100 } };
      start({ ceilings });
      compromise(3);
      let reads = 0;
      on.platform.onRead = (what) => {
        if (what === 'target') reads += 1;
        if (what === 'target' && reads === 1) on.platform.compromised('d10', 'FALSE');
      };
      await calls.answerAllUntil(on.run());
      expect([...on.platform.effects].sort()).toEqual(['ban S-d11', 'ban S-d12']);
    });
  });

  describe('the breaker', () => {
    it.each([
      ['failed', FAILED],
      ['doubtful', LOST],
    ] as const)('never lets more %s calls be made than it allows, however many go at once', async (_, answer) => {
      start({ runFailuresMax: 3 });
      compromise(12);
      const run = on.run();
      await calls.open(3);
      await settled();
      expect(calls.targets).toHaveLength(3);
      await calls.answerAllUntil(run, answer);
      expect(on.platform.sent).toHaveLength(3);
      expect((await run).decisions.filter(({ reason }) => reason === 'stopped')).toHaveLength(9);
    });

    it('lets all be done that can be done, at once as far as failures leave places', async () => {
      start({ runFailuresMax: 2 });
      compromise(6);
      const run = on.run();
      await calls.open(2);
      calls.answer(calls.targets[0] as string, FAILED);
      await settled();
      expect(calls.targets).toHaveLength(1);
      await calls.answerAllUntil(run);
      expect(calls.mostAtOnce).toBe(2);
      expect(on.platform.effects).toHaveLength(5);
    });
  });

  describe('an end', () => {
    it('by a stop holds before the next call of each, and settles what is under way', async () => {
      start();
      compromise(20);
      const run = on.run();
      await calls.open(LIFT);
      await on.store.setStop({ by: 'ana', reason: 'a drill', at: on.clock.now }, []);
      await calls.answerAllUntil(run);
      expect(on.platform.sent).toHaveLength(LIFT);
      const { decisions } = await run;
      expect(decisions.filter(({ reason }) => reason === 'stopped')).toHaveLength(20 - LIFT);
      expect(decisions.filter(({ outcome }) => outcome === 'succeeded')).toHaveLength(LIFT);
    });

    it('by a stop between the read and the commit counts: nothing is sent', async () => {
      start();
      compromise(4);
      let reads = 0;
      on.platform.onRead = (what) => {
        if (what === 'target') reads += 1;
        if (reads === 4) void on.store.setStop({ by: 'ana', reason: 'a drill', at: on.clock.now }, []);
      };
      await calls.answerAllUntil(on.run());
      expect(on.platform.sent).toEqual([]);
    });

    it('by a 401 begins nothing new, settles what is under way, and leaves the rest to the next run', async () => {
      start();
      compromise(12);
      const run = on.run();
      await calls.open(LIFT);
      const [first] = calls.targets as [string];
      calls.answer(first, UNAUTHORIZED);
      await settled();
      await calls.answerAllUntil(run.catch(() => {}));
      await expect(run).rejects.toMatchObject({ code: 'api_refused' });
      expect(on.platform.sent).toHaveLength(LIFT);
      const found = await states();
      expect(found.filter((state) => state.endsWith(' succeeded'))).toHaveLength(LIFT - 1);
      expect(found.filter((state) => state.endsWith(' planned'))).toHaveLength(12 - LIFT);
      await calls.answerAllUntil(on.run());
      expect(on.platform.effects).toHaveLength(12);
    });
  });

  describe('a dry run', () => {
    it('names the set of intents that a live run does at once', async () => {
      start();
      compromise(15);
      const dry = await on.run('dry-run');
      const named = (await on.store.intents({})).map(({ target }) => `ban ${target}`).sort();
      expect(dry.run.status).toBe('completed');
      await calls.answerAllUntil(on.run());
      expect([...on.platform.effects].sort()).toEqual(named);
    });
  });

  /** Everything that can go on without an answer has gone on. */
  async function settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await giveWay();
  }
});

describe('whom an intent touches, and the order in which intents that touch the same go', () => {
  function intent(action: string, target: string, more: Partial<Touching> = {}): Touching {
    return { action, target, settings: {}, basis: [], effect: { text: '', devices: [] }, ...more };
  }

  function owned(target: string, ...owners: string[]): Touching {
    const devices = [{ id: target, name: '', platform: '', model: '', owners }];
    return intent('ban_device', target, { effect: { text: '', devices } });
  }

  function share(a: Touching, b: Touching): boolean {
    const other = touchedBy(b, ACTIONS);
    return [...touchedBy(a, ACTIONS)].some((name) => other.has(name));
  }

  describe('two intents share', () => {
    const mapping = intent('delete_device', 'S1 ana@main.test', { settings: { Email: 'ana@main.test' } });
    it.each([
      ['a serial number in another case', intent('ban_device', 'sn-1'), intent('delete_device', 'SN-1')],
      ['the serial number of a mapping', mapping, intent('ban_device', 'S1')],
      ['a service and its place in a bundle', intent('disable_service', 'svc'), intent('add_to_bundle', 'svc b1')],
      ['a bundle', intent('add_to_bundle', 'svc1 b1'), intent('remove_from_bundle', 'svc2 b1')],
      ['an owner in another case', owned('S1', 'ana@main.test', 'bob@main.test'), owned('S2', 'ANA@main.test')],
    ])('%s', (_, a, b) => expect(share(a, b)).toBe(true));

    it('nothing where serial numbers, services, bundles and owners differ', () => {
      expect(share(owned('S1', 'ana@main.test'), owned('S2', 'bob@main.test'))).toBe(false);
      expect(share(intent('add_to_bundle', 'svc1 b1'), intent('add_to_bundle', 'svc2 b2'))).toBe(false);
    });
  });

  it('owners just read are those of devices and of users, without their case', () => {
    const records: Facts[] = [{ Emails: ['Ana@main.test'] }, { Email: 'BOB@main.test' }, { Emails: null }];
    expect([...ownersJustRead({ state: 'otherwise', records, evidence: {} })]).toEqual([
      'ana@main.test',
      'bob@main.test',
    ]);
  });

  it('the deletion of one mapping touches everybody who has the device, also where only what was just read shows them', async () => {
    const devices: Facts[] = ['Ana@main.test', 'bob@main.test'].map((owner) => ({
      DeviceID: owner,
      SerialNumber: 'S1',
      Emails: [owner],
    }));
    const reads = {
      devicesOfSerial: async () => devices,
      user: async (Email: string) => ({ Email, SerialNumbers: ['S1'] }),
    } as unknown as TargetReads;
    const { readBack } = ACTIONS.get('delete_device') as Action;
    const read = await readBack(reads, 'S1 bob@main.test', { Email: 'bob@main.test' });
    expect([...ownersJustRead(read)].sort()).toEqual(['ana@main.test', 'bob@main.test']);
  });

  describe('side by side', () => {
    const context = (concurrency: number) => ({
      actions: ACTIONS,
      door: new Door(async () => {}),
      settings: { concurrency } as never,
    });

    it('the order of those that share is kept, and others pass them', async () => {
      const items = [
        owned('S1', 'ana'),
        owned('S2', 'ana'),
        owned('S3', 'ana', 'bob'),
        owned('S4', 'bob'),
        owned('S5'),
      ];
      const begun: string[] = [];
      await sideBySide(context(8), items, async ({ target }) => {
        begun.push(target);
        await giveWay();
      });
      expect(begun).toEqual(['S1', 'S5', 'S2', 'S3', 'S4']);
    });

    it('the first fault ends it: nothing new begins, and what is under way is over before it is thrown', async () => {
      const over: string[] = [];
      const work = sideBySide(
        context(2),
        ['S1', 'S2', 'S3', 'S4'].map((serial) => owned(serial)),
        async ({ target }) => {
          if (target === 'S1') throw new Error('it broke');
          for (let turn = 0; turn < 3; turn += 1) await giveWay();
          over.push(target);
        },
      );
      await expect(work).rejects.toThrow('it broke');
      expect(over).toEqual(['S2']);
    });
  });
});
