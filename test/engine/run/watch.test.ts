// test: a look at the event log between two whole runs: what it reads, judges, does and records, within which bounds, and what happens meanwhile.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, isStillOn, lookOn, recordRequests } from '../../support/looks.ts';

describe('a look at the event log between two whole runs', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const runs = () => on.store.runs(100);

  describe('a look at the event log', () => {
    beforeEach(async () => {
      on = startOnPlatform();
      await addFleet(on, 20);
    });

    it('bans a device that an event names', async () => {
      compromise(on, 'd3');
      const look = await lookOn(on);
      expect(look).toMatchObject({ result: 'acted', events: 1, named: 1, read: 1, strangers: 0, unread: 0 });
      expect(on.platform.effects).toEqual(['ban S-d3']);
    });

    it('is recorded as a run over these subjects, which counts with the last whole one', async () => {
      const [whole] = await runs();
      compromise(on, 'd3');
      const { run } = await lookOn(on);
      const stored = (await on.store.run(String(run?.seq))) as RunRecord;
      expect(stored).toMatchObject({ trigger: 'watch', scoped: true, countsWith: whole?.id, status: 'completed' });
      expect(stored.findings?.snapshot.sources.devices).toMatchObject({ form: 'single', count: 1, trusted: true });
      expect(stored.findings?.tallies[0]).toMatchObject({ match: 1, no_match: 0 });
    });

    it('leaves neither a run nor an entry of the audit when it changes nothing', async () => {
      const [before, head] = [await runs(), await on.store.auditHead()];
      addEvent(on, 'd3');
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1, named: 1, read: 1 });
      expect(await runs()).toEqual(before);
      expect(await on.store.auditHead()).toEqual(head);
    });

    it('makes one request while nothing happens', async () => {
      addEvent(on, 'd3');
      await lookOn(on);
      for (let look = 0; look < 3; look += 1) {
        on.clock.pass(400_000);
        const made = recordRequests(on);
        expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
        expect(made).toEqual(['events']);
      }
    });

    it('need not be made where nothing is new, which is known without rules', async () => {
      expect(await isStillOn(on)).toBe(true);
      addEvent(on, 'd3');
      expect(await isStillOn(on)).toBe(false);
      await lookOn(on);
      expect(await isStillOn(on)).toBe(true);
      await on.run();
      expect(await isStillOn(on)).toBe(true);
    });

    it('is made where the log cannot be read', async () => {
      on.platform.events = () => Promise.reject(new AppError('api_unreachable', 'no answer'));
      expect(await isStillOn(on)).toBe(false);
    });

    it('names a subject once for an event, however often the log shows it', async () => {
      addEvent(on, 'd3');
      await lookOn(on);
      on.clock.pass(30_000);
      expect(await lookOn(on)).toMatchObject({ events: 0, named: 0, read: 0 });
    });

    it('reads a subject once that a thousand events name', async () => {
      for (let event = 0; event < 1_000; event += 1) addEvent(on, 'd3');
      const made = recordRequests(on);
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1_000, named: 1, read: 1 });
      expect(made.filter((name) => name === 'devicesOfSerial')).toHaveLength(1);
    });

    it('does not do again what it has done, and neither does the next whole run', async () => {
      compromise(on, 'd3');
      await lookOn(on);
      on.clock.pass(30_000);
      addEvent(on, 'd3');
      await lookOn(on);
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d3']);
    });

    it('ends no episode and undoes nothing, which the next whole run does', async () => {
      compromise(on, 'd3');
      await lookOn(on);
      on.clock.pass(60_000);
      on.platform.compromised('d3', 'FALSE');
      addEvent(on, 'd3');
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', read: 1 });
      expect((await on.store.openState(on.clock.now)).episodes.map(({ state }) => state)).toEqual(['matching']);
      expect(on.platform.effects).toEqual(['ban S-d3']);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d3', 'unban S-d3']);
    });

    it('leaves a device alone that a person has unbanned', async () => {
      compromise(on, 'd3');
      await lookOn(on);
      on.clock.pass(60_000);
      on.platform.patch('d3', { Banned: 'FALSE' });
      addEvent(on, 'd3');
      await lookOn(on);
      addEvent(on, 'd3');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d3']);
    });

    it('calls nothing in a dry run, and shows once what it would do', async () => {
      compromise(on, 'd3');
      const look = await lookOn(on, { mode: 'dry-run' });
      expect(look.result).toBe('acted');
      expect(on.platform.sent).toEqual([]);
      expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['dry_run']);
      on.clock.pass(30_000);
      addEvent(on, 'd3');
      expect(await lookOn(on, { mode: 'dry-run' })).toMatchObject({ result: 'nothing', read: 1 });
    });

    it('calls nothing while everything is stopped', async () => {
      await on.store.setStop({ at: on.clock.now, by: 'ada', reason: 'drill' }, []);
      compromise(on, 'd3');
      await lookOn(on);
      expect(on.platform.sent).toEqual([]);
      const [decision] = await on.store.decisions({ limit: 1 });
      expect(decision).toMatchObject({ decision: 'hold', reason: 'stopped' });
    });

    it('judges all devices of a serial number that an event names', async () => {
      on.platform.addDevice('twin', { SerialNumber: 'S-d3', Model: 'M2' });
      compromise(on, 'd3');
      expect(await lookOn(on)).toMatchObject({ read: 2 });
      const [decision] = await on.store.decisions({ limit: 1 });
      expect(decision?.reason).toBe('serial_shared');
      expect(on.platform.sent).toEqual([]);
    });
  });

  describe('a rule', () => {
    it('with `for` is opened by a look, and acts when its time is over', async () => {
      on = startOnPlatform({ rules: [banRule({ more: 'for: 10m' })] });
      await addFleet(on, 20);
      compromise(on, 'd3');
      await lookOn(on);
      expect(on.platform.sent).toEqual([]);
      on.clock.pass(11 * 60_000);
      addEvent(on, 'd3');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d3']);
    });

    it('with `watch: false` is judged by whole runs only', async () => {
      on = startOnPlatform({ rules: [banRule({ more: 'watch: false' })] });
      await addFleet(on, 20);
      compromise(on, 'd3');
      expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'nothing_to_watch' } });
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d3']);
    });

    it('that was edited since the last whole run waits for the next one', async () => {
      on = startOnPlatform({ rules: [banRule()] });
      await addFleet(on, 20);
      on.rules(banRule({ cooldown: '1h' }));
      compromise(on, 'd3');
      expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'nothing_to_watch' } });
    });
  });
});

describe('what happens between a look, its reads and its calls, and between two looks', () => {
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
});

describe('a look is not a way around', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  /** The rule of the support has limits of its own. */
  function limited(max: number): LoadedRule {
    const rule = banRule();
    return { ...rule, limits: { max, percent: 100 } };
  }

  describe('the limits of a rule', () => {
    it('hold what a look proposes beyond them, together with what earlier looks did', async () => {
      on = startOnPlatform({ rules: [limited(3)] });
      await addFleet(on, 40);
      for (const id of ['d1', 'd2', 'd3', 'd4']) {
        compromise(on, id);
        await lookOn(on);
      }
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3']);
      const [last] = await on.store.decisions({ limit: 1 });
      expect(last?.reasonText).toBe("4 targets at once cross the rule's limit (max 3), with 3 of the runs since run 1");
    });

    it('hold all that one look proposes, not the rest', async () => {
      on = startOnPlatform({ rules: [limited(3)] });
      await addFleet(on, 40);
      compromise(on, 'd1', 'd2');
      await lookOn(on);
      compromise(on, 'd3', 'd4');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    });

    it('count a target that a later look found done', async () => {
      on = startOnPlatform({ rules: [limited(2)] });
      await addFleet(on, 40);
      compromise(on, 'd1', 'd2');
      await lookOn(on);
      on.clock.pass(60_000);
      for (const id of ['d1', 'd2']) addEvent(on, id);
      await lookOn(on);
      compromise(on, 'd3');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    });

    it('count what the last whole run held', async () => {
      on = startOnPlatform({ rules: [limited(3)] });
      for (let number = 1; number <= 4; number += 1) {
        on.platform.addDevice(`d${number}`, { MdmData: { CompromisedStatus: 'TRUE' } });
      }
      await on.run();
      on.platform.addDevice('d5');
      compromise(on, 'd5');
      await lookOn(on);
      expect(on.platform.sent).toEqual([]);
    });

    it('count what was done long before the last whole run no more', async () => {
      on = startOnPlatform({ rules: [limited(2)] });
      await addFleet(on, 40);
      compromise(on, 'd1', 'd2');
      await lookOn(on);
      on.clock.pass(60_000);
      await on.run();
      on.clock.pass(60_000);
      compromise(on, 'd3');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3']);
    });

    it('are shares of the fleet that the last whole run read', async () => {
      on = startOnPlatform({ rules: [{ ...banRule(), limits: { max: 100, percent: 5 } }] });
      await addFleet(on, 40);
      for (const id of ['d1', 'd2', 'd3']) {
        compromise(on, id);
        await lookOn(on);
      }
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    });
  });

  describe('owners', () => {
    it('lose no second device by a later look', async () => {
      on = startOnPlatform();
      on.platform.addDevice('a1', { Emails: ['Ann@example.com'] });
      on.platform.addDevice('a2', { Emails: ['ann@example.com'] });
      await addFleet(on, 40);
      compromise(on, 'a1');
      await lookOn(on);
      compromise(on, 'a2');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-a1']);
      const [last] = await on.store.decisions({ limit: 1 });
      expect(last).toMatchObject({
        reason: 'owners',
        reasonText: '2 devices of ann@example.com in the runs since run 1 (`owners: all` in the rule allows it)',
      });
    });

    it('lose no second device to another rule', async () => {
      on = startOnPlatform({ rules: [banRule(), banRule({ id: 'other', field: 'Other', more: 'owners: all' })] });
      on.platform.addDevice('a1', { Emails: ['ann@example.com'], MdmData: { Other: 'TRUE' } });
      on.platform.addDevice('a2', { Emails: ['ann@example.com'] });
      await addFleet(on, 40);
      compromise(on, 'a2');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-a1']);
    });
  });

  describe('the ceiling of a run', () => {
    function capped(run: number): OnPlatform {
      const ceilings = { run: { max: run, percent: 0 }, day: { max: 100, percent: 0 } };
      return startOnPlatform({
        settings: (given) => ({ ...given, decide: { ...given.decide, ceilings }, act: { ...given.act, ceilings } }),
      });
    }

    it('counts the calls of a whole run and of all looks after it', async () => {
      on = capped(3);
      on.platform.addDevice('d0', { MdmData: { CompromisedStatus: 'TRUE' } });
      await addFleet(on, 40);
      for (const id of ['d1', 'd2', 'd3']) {
        compromise(on, id);
        await lookOn(on);
      }
      expect(on.platform.effects).toEqual(['ban S-d0', 'ban S-d1', 'ban S-d2']);
      const [last] = await on.store.decisions({ limit: 1 });
      expect(last?.reason).toBe('ceiling');
    });

    it('counts the plan of a look with that whole run', async () => {
      const ceilings = { run: { max: 2, percent: 0 }, day: { max: 100, percent: 0 } };
      on = startOnPlatform({
        rules: [banRule(), banRule({ id: 'asks', field: 'Other', mode: 'approve' })],
        settings: (given) => ({ ...given, decide: { ...given.decide, ceilings }, act: { ...given.act, ceilings } }),
      });
      await addFleet(on, 40);
      compromise(on, 'd1', 'd2');
      await lookOn(on);
      on.platform.patch('d3', { MdmData: { Other: 'TRUE' } });
      addEvent(on, 'd3');
      await lookOn(on);
      const [plan] = await on.store.plans({ status: 'pending' }, 10);
      await on.apply(await on.approve(plan));
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    });
  });

  describe('the breaker', () => {
    it('counts the failures of earlier looks', async () => {
      on = startOnPlatform();
      await addFleet(on, 40);
      const ids = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'];
      for (const id of ids) {
        on.platform.answer(`S-${id}`, 'failed');
        compromise(on, id);
        await lookOn(on);
      }
      expect(on.platform.sent).toHaveLength(5);
    });
  });

  describe('a plan', () => {
    it('of a look is the one that waits, carried on once, and nothing leaves it', async () => {
      on = startOnPlatform({ rules: [banRule({ mode: 'approve' })] });
      on.platform.addDevice('d0', { MdmData: { CompromisedStatus: 'TRUE' } });
      await addFleet(on, 40);
      compromise(on, 'd1');
      await lookOn(on);
      on.clock.pass(30_000);
      addEvent(on, 'd1');
      expect((await lookOn(on)).result).toBe('nothing');
      const plans = await on.store.plans({ status: 'pending' }, 10);
      expect(plans.map(({ intents }) => intents.map(({ target }) => target))).toEqual([['S-d0', 'S-d1']]);
      const [revision, ...more] = await on.store.planRevisions(plans[0]?.id ?? '');
      expect([revision?.change, more]).toEqual([{ joined: 1, changed: 0, left: [] }, []]);
    });
  });
});
