// test: whom events name and on what a look rests: every name is checked by a record that is read, events count once, nothing is done on doubt.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn, recordRequests } from '../../support/looks.ts';

describe('whom events name', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const about = (device: Facts) => ({ user_principal: { device } });

  function ruleOver(subject: 'user' | 'service', when: string, given: string, then = 'notify'): LoadedRule {
    const text = `
id: ${subject}-rule
title: Report
severity: high
subject: ${subject}
when: ${when}
then: ${then}
mode: enforce
limits: { max: 1000, percent: 100 }
tests: [{ name: one, given: ${given}, expect: match }]
`;
    const parsed = parseRule(text, `${subject}-rule.yaml`, { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  describe('an event of a device', () => {
    beforeEach(async () => {
      on = startOnPlatform();
      await addFleet(on, 5);
      on.platform.compromised('d1', 'TRUE');
    });

    it('by serial number alone names all its devices', async () => {
      addEvent(on, 'd1', about({ serial_number: 'S-d1' }));
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('by DeviceID alone names the device', async () => {
      addEvent(on, 'd1', about({ id: 'd1' }));
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('whose DeviceID is not that of the serial number is of nobody', async () => {
      addEvent(on, 'd1', about({ id: 'd9', serial_number: 'S-d1' }));
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', named: 1, read: 0, strangers: 1 });
      expect(on.platform.sent).toEqual([]);
    });

    it('that has vanished before it is read is a stranger', async () => {
      addEvent(on, 'd1');
      on.platform.devices.delete('d1');
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', read: 0, strangers: 1 });
    });

    it.each([
      ['serial number', { serial_number: 'x'.repeat(60_000) }],
      ['DeviceID', { id: 'x'.repeat(60_000) }],
    ])('whose %s is longer than any is of nobody, and does not keep others from being read', async (_, named) => {
      on.engine.api = new Proxy(on.platform, {
        get: (platform, name) => {
          const value: unknown = Reflect.get(platform, name, platform);
          if (typeof value !== 'function') return value;
          return (asked: unknown, ...more: unknown[]) => {
            if (String(asked).length > 8_000) throw new AppError('api_answer', 'the server answered 431');
            return value.call(platform, asked, ...more);
          };
        },
      });
      addEvent(on, 'd2', about(named));
      addEvent(on, 'd1');
      expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 2, read: 1, strangers: 1 });
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('does not widen what is judged when the server ignores its filter', async () => {
      on.platform.compromised('d2', 'TRUE');
      on.engine.api = new Proxy(on.platform, {
        get: (platform, name) => {
          if (name === 'devicesOfSerial') return async () => [...platform.devices.values()];
          const value: unknown = Reflect.get(platform, name, platform);
          return typeof value === 'function' ? value.bind(platform) : value;
        },
      });
      addEvent(on, 'd1');
      expect(await lookOn(on)).toMatchObject({ read: 1 });
      expect((await on.store.decisions({ limit: 10 })).map(({ target }) => target)).toEqual(['S-d1']);
    });

    it.each([
      ['nobody', {}],
      ['a person only, whom no rule judges', { user_principal: { user: { email: 'ann@example.com' } } }],
      ['an empty serial number', about({ id: '', serial_number: '' })],
      ['lists in place of names', about({ id: ['d1'], serial_number: { a: 'S-d1' } })],
    ])('that names %s is read once and leads to nothing', async (_, more) => {
      addEvent(on, 'd1', { user_principal: null, ...more } as Facts);
      const made = recordRequests(on);
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1, named: 0, read: 0 });
      expect(new Set(made)).toEqual(new Set(['events']));
      expect(await lookOn(on)).toMatchObject({ events: 0 });
    });

    it('with a time in the future neither hides later events nor is read twice', async () => {
      addEvent(on, 'd3', { created_at: on.clock.now + 1e12 });
      expect(await lookOn(on)).toMatchObject({ events: 1, read: 1 });
      on.clock.pass(30_000);
      addEvent(on, 'd1');
      // The platform in memory keeps the order of writing; a server sorts by time.
      on.platform.eventLog.sort((a, b) => Number(a.created_at) - Number(b.created_at));
      expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1, named: 1 });
      on.clock.pass(30_000);
      const made = recordRequests(on);
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
      expect(made).toEqual(['events']);
    });

    it('that is written late, within the overlap, is still seen', async () => {
      on.clock.pass(60_000);
      addEvent(on, 'd3');
      await lookOn(on);
      on.clock.pass(30_000);
      addEvent(on, 'd1', { created_at: on.clock.now - 45_000 });
      on.platform.eventLog.sort((a, b) => Number(a.created_at) - Number(b.created_at));
      expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1 });
    });

    it.each([2, 3, 7])('is not lost on a server that sends %i events at most', async (cap) => {
      on.engine.api = new Proxy(on.platform, {
        get: (platform, name) => {
          if (name === 'events') return (query: Facts) => platform.events({ ...query, limit: cap });
          const value: unknown = Reflect.get(platform, name, platform);
          return typeof value === 'function' ? value.bind(platform) : value;
        },
      });
      for (let event = 0; event < 10; event += 1) {
        addEvent(on, 'd3');
        expect(await lookOn(on)).toMatchObject({ events: 1 });
      }
      for (let event = 0; event < 9; event += 1) addEvent(on, 'd4');
      addEvent(on, 'd1');
      expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 10, named: 2 });
    });
  });

  describe('an event of a person', () => {
    it('names the user in any case', async () => {
      on = startOnPlatform({
        rules: [ruleOver('user', '{ "==": [{ var: Name }, Leaver] }', '{ Name: Leaver }')],
      });
      on.platform.users.set('Ann@Example.com', { Email: 'Ann@Example.com', Name: 'Ann' });
      await on.run();
      on.clock.pass(30_000);
      on.platform.users.set('Ann@Example.com', { Email: 'Ann@Example.com', Name: 'Leaver' });
      addEvent(on, 'd1', { user_principal: { user: { email: 'ANN@example.com' } } });
      expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 1, read: 1 });
      const [decision] = await on.store.decisions({ limit: 1 });
      expect(decision?.subject).toEqual({ kind: 'user', id: 'Ann@Example.com' });
    });
  });

  describe('an event of a service', () => {
    const service = (Enabled: string) => ({
      ServiceID: 'web.c1.x',
      ServiceName: 'web',
      Enabled,
      ServiceSpec: JSON.stringify({ metadata: { name: 'web', cluster: 'c1' } }),
    });

    it.each([
      ['its id', { service: { id: 'web.c1.x' } }],
      ['its name', { service: { name: 'web' } }],
      ['the destination of a link', { link: { destination: { container_id: 'web.c1.x' } } }],
      [
        'the destination of a recorded link',
        { link: { destination: { service_id: 'web.c1.x', container_id: 'c-1' } } },
      ],
    ])('names it by %s', async (_, more) => {
      on = startOnPlatform({
        rules: [ruleOver('service', '{ "==": [{ var: Enabled }, "FALSE"] }', '{ Enabled: "FALSE" }')],
      });
      on.platform.services.set('web.c1.x', service('TRUE'));
      await on.run();
      on.clock.pass(30_000);
      on.platform.services.set('web.c1.x', service('FALSE'));
      addEvent(on, 'd1', { user_principal: null, ...more } as Facts);
      expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 1, read: 1 });
    });
  });

  describe('a rule that joins', () => {
    it('owners gets them by single reads', async () => {
      const joined = banRule();
      on = startOnPlatform({ rules: [joined, joiningRule()] });
      on.platform.users.set('ann@example.com', { Email: 'ann@example.com', Name: 'Leaver', SerialNumbers: ['S-d1'] });
      on.platform.addDevice('d1', { Emails: ['ann@example.com'] });
      await on.run();
      on.clock.pass(30_000);
      on.platform.patch('d1', { Platform: 'windows' });
      addEvent(on, 'd1');
      await lookOn(on);
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });
  });

  describe('a rule that counts the events of those who are joined', () => {
    const denied = { type: 'Access', action: 'Unauthorized' };
    const ofUser = (email: string) => ({ ...denied, user_principal: { user: { email } } });
    const own = { when: '{ ">=": [{ event_count: { action: Unauthorized, within: 1h } }, 2] }' };

    async function begin(rules: LoadedRule[]): Promise<void> {
      on = startOnPlatform({ rules });
      on.platform.users.set('Ann@Example.com', { Email: 'Ann@Example.com', SerialNumbers: ['S-d1', 'S-d2'] });
      on.platform.users.set('bob@example.com', { Email: 'bob@example.com', SerialNumbers: ['S-d3'] });
      for (const id of ['d1', 'd2']) on.platform.addDevice(id, { Emails: ['Ann@Example.com'] });
      on.platform.addDevice('d3', { Emails: ['bob@example.com'] });
      // A log that goes back for longer than the window: the count is exact.
      addEvent(on, 'd9', { created_at: on.clock.now - 7_200_000 });
      await on.run();
      on.clock.pass(30_000);
    }

    const ownersRule = (more = '') =>
      loaded(`
id: owners
title: Ban
severity: high
subject: device
when: { some: [{ var: $owners }, ${own.when}] }
then: ban_device
mode: enforce
owners: all
limits: { max: 1000, percent: 100 }
${more}
tests: [{ name: none, expect: no_match }]
`);

    it('judges the devices of a user at once, and only with what it counts', async () => {
      await begin([ownersRule()]);
      addEvent(on, 'd9', ofUser('ann@example.com'));
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', read: 2 });
      on.clock.pass(10_000);
      addEvent(on, 'd9', { ...ofUser('ann@example.com'), action: 'Authorized' });
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', named: 0, read: 0 });
      on.clock.pass(10_000);
      addEvent(on, 'd9', ofUser('ANN@example.com'));
      expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 1, read: 2, strangers: 0 });
      expect([...on.platform.effects].sort()).toEqual(['ban S-d1', 'ban S-d2']);
      await on.run();
      expect(on.platform.effects).toHaveLength(2);
    });

    it('does not wake for a rule with `watch: false`, nor for a user whom nobody has', async () => {
      await begin([ownersRule('watch: false'), banRule()]);
      for (const _ of [1, 2]) addEvent(on, 'd9', ofUser('ann@example.com'));
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', named: 0, read: 0 });
      on.close();
      await begin([ownersRule()]);
      for (const _ of [1, 2]) addEvent(on, 'd9', ofUser('nobody@example.com'));
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', named: 1, read: 0, strangers: 1 });
    });

    it('leaves it to a whole run when they concern more than 200 subjects', async () => {
      await begin([ownersRule()]);
      const SerialNumbers = Array.from({ length: 201 }, (_, at) => `S-${at}`);
      on.platform.users.set('bob@example.com', { Email: 'bob@example.com', SerialNumbers });
      addEvent(on, 'd9', ofUser('bob@example.com'));
      expect((await lookOn(on)).reason).toEqual({ code: 'many_subjects', text: 'new events concern 201 subjects' });
    });

    it('judges the users of a device at once', async () => {
      const when = `{ some: [{ var: $devices }, ${own.when}] }`;
      await begin([ruleOver('user', when, '{}')]);
      for (const _ of [1, 2]) addEvent(on, 'd2', denied);
      expect(await lookOn(on)).toMatchObject({ result: 'acted', named: 1, read: 1 });
      const [decision] = await on.store.decisions({ limit: 1 });
      expect(decision?.subject).toEqual({ kind: 'user', id: 'Ann@Example.com' });
    });
  });

  function loaded(text: string): LoadedRule {
    const parsed = parseRule(text, 'loaded.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  function joiningRule(): LoadedRule {
    const text = `
id: joining
title: Ban
severity: high
subject: device
when:
  and:
    - { "==": [{ var: Platform }, windows] }
    - { some: [{ var: $owners }, { "==": [{ var: Name }, Leaver] }] }
then: ban_device
mode: enforce
limits: { max: 1000, percent: 100 }
tests:
  - { name: one, given: { Platform: windows }, owners: [{ Name: Leaver }], expect: match }
`;
    const parsed = parseRule(text, 'joining.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }
});

describe('on what a look rests, and when it rests or starts a whole run instead', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const forbidden = new AppError('api_forbidden', 'the server refuses this');
  const unreachable = new AppError('api_unreachable', 'the server does not answer');

  function eventsFail(error: AppError | undefined): void {
    const { platform } = on;
    if (error) platform.events = () => Promise.reject(error);
    else Reflect.deleteProperty(platform, 'events');
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
});

describe('rules that count events, judged by looks', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const denied = { type: 'Access', action: 'Unauthorized' };

  function countingRule(): LoadedRule {
    const text = `
id: denied
title: Ban
severity: high
subject: device
when: { ">=": [{ event_count: { type: Access, action: Unauthorized, within: 1h } }, 4] }
then: ban_device
mode: enforce
limits: { max: 1000, percent: 100 }
tests:
  - { name: none, given: {}, expect: no_match }
`;
    const parsed = parseRule(text, 'denied.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  describe('a rule that counts events', () => {
    beforeEach(async () => {
      on = startOnPlatform({ rules: [countingRule()] });
      // A log that goes back for longer than the window: the count is exact.
      addEvent(on, 'd9', { created_at: on.clock.now - 7_200_000 });
      addEvent(on, 'd1', denied);
      await addFleet(on, 5);
    });

    it('acts with the fourth event, over whole runs and looks', async () => {
      for (const expected of [0, 0, 1]) {
        on.clock.pass(10_000);
        addEvent(on, 'd1', denied);
        await lookOn(on);
        expect(on.platform.effects).toHaveLength(expected);
      }
    });

    it('counts an event once whose look could not be committed', async () => {
      const { store } = on.engine;
      on.engine.store = new Proxy(store, {
        get: (target, name) => {
          if (name === 'observeEvents' || name === 'commitRun')
            return async () => {
              throw new Error('disk full');
            };
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      on.clock.pass(10_000);
      addEvent(on, 'd1', denied);
      await expect(lookOn(on)).rejects.toThrow('disk full');
      await expect(lookOn(on)).rejects.toThrow('disk full');
      on.engine.store = store;
      on.clock.pass(10_000);
      addEvent(on, 'd1', denied);
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 2, named: 1 });
      addEvent(on, 'd1', denied);
      expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1 });
    });

    it('knows in a fresh process what earlier looks counted', async () => {
      on.clock.pass(10_000);
      for (let event = 0; event < 2; event += 1) addEvent(on, 'd1', denied);
      await lookOn(on);
      on.engine.feed = { primed: new WeakSet(), triedMs: 0 };
      on.rules(countingRule());
      addEvent(on, 'd1', denied);
      expect((await lookOn(on)).result).toBe('acted');
    });

    it('leaves the next whole run no more to read than the overlap, and nothing to do twice', async () => {
      for (let event = 0; event < 3; event += 1) addEvent(on, 'd1', denied);
      await lookOn(on);
      const made = recordRequests(on);
      await on.run();
      expect(made.filter((name) => name === 'events').length).toBeLessThanOrEqual(4);
      expect(on.platform.sent).toEqual(['ban S-d1']);
    });
  });
});
