// test: whom events name: every name is checked against the record that is read by it, and nothing is done on doubt.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, lookOn, recordRequests } from '../../support/looks.ts';

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
    ['the destination of a recorded link', { link: { destination: { service_id: 'web.c1.x', container_id: 'c-1' } } }],
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
