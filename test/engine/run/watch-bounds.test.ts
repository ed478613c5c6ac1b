// test: a look is not a way around: limits, owners, ceilings and the breaker count it as one run with the last whole one.
import { afterEach, describe, expect, it } from 'vitest';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn } from '../../support/looks.ts';

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
  it('of a look supersedes none, and is sealed once for what waits', async () => {
    on = startOnPlatform({ rules: [banRule({ mode: 'approve' })] });
    on.platform.addDevice('d0', { MdmData: { CompromisedStatus: 'TRUE' } });
    await addFleet(on, 40);
    compromise(on, 'd1');
    await lookOn(on);
    on.clock.pass(30_000);
    addEvent(on, 'd1');
    expect((await lookOn(on)).result).toBe('nothing');
    const plans = await on.store.plans({ status: 'pending' }, 10);
    expect(plans.map(({ intents }) => intents.map(({ target }) => target)).sort()).toEqual([['S-d0'], ['S-d1']]);
  });
});
