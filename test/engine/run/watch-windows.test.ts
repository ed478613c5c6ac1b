// test: rules that count events, judged by looks: an event counts once, whoever read it, and what could not be committed is read again.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, lookOn, recordRequests } from '../../support/looks.ts';

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
