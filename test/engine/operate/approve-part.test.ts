// test: a part of a plan: what is chosen is a plan of its own, exactly it is applied, and the rest waits on in the plan.

import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { planDigest } from '../../../src/domain/digest.ts';
import type { Plan, PlannedIntent, PlanSelection } from '../../../src/domain/plan.ts';
import { chooseFrom, partOf, withoutPart } from '../../../src/engine/approve/plans.ts';
import { answerPart, answerPlan, applyPlan, approvePart } from '../../../src/engine/operate/plans.ts';
import { Crash, Life, mortal } from '../../support/crash.ts';
import { banRule, type OnPlatform, type Options, startOnPlatform } from '../../support/engine-on-platform.ts';

const ban = banRule({ id: 'ban', mode: 'approve' });
const other = banRule({ id: 'other', mode: 'approve', field: 'Other' });
const ALL: PlanSelection = { rules: [], only: [], except: [] };
const compromised = { MdmData: { CompromisedStatus: 'TRUE' } };
let on: OnPlatform;
afterEach(() => on.close());

/** `d1`, `d2` match one rule, `d3` the other, `d4` both. */
async function waitingPlan(options: Options = {}): Promise<Plan> {
  on = startOnPlatform({ rules: [ban, other], ...options });
  for (const id of ['d1', 'd2']) on.platform.addDevice(id, compromised);
  on.platform.addDevice('d3', { MdmData: { Other: 'TRUE' } });
  on.platform.addDevice('d4', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
  return (await on.run()).plan as Plan;
}

const part = (plan: Plan, selection: Partial<PlanSelection>) =>
  approvePart(on.engine, plan.id, { ...ALL, ...selection }, { by: 'ada', reason: 'looked at these' });
const targetsOf = ({ intents }: Pick<Plan, 'intents'>) => intents.map(({ target }) => target);
const stored = async ({ id }: Plan) => (await on.store.plan(id)) as Plan;
const bodies = async (kind: string) =>
  (await on.store.audit({ kind, limit: 10 })).map(({ bytes }) => JSON.parse(bytes).body);

describe('a part of a plan', () => {
  it.each<[string, Partial<PlanSelection>, string[]]>([
    ['of a rule has the actions whose every rule is named', { rules: ['ban'] }, ['S-d1', 'S-d2']],
    ['of both rules has those of both', { rules: ['ban', 'other'], except: ['S-d3'] }, ['S-d1', 'S-d2', 'S-d4']],
    ['of a target has it, in any case', { only: ['s-D2'] }, ['S-d2']],
    ['of a subject has its target', { only: ['D4', 'S-d3'] }, ['S-d3', 'S-d4']],
    ['without a target has all others', { except: ['S-d1', 'd4'] }, ['S-d2', 'S-d3']],
    ['of a rule without a target has what is left of it', { rules: ['ban'], except: ['d1'] }, ['S-d2']],
  ])('%s, and exactly that is applied', async (_, selection, expected) => {
    const plan = await waitingPlan();
    const { plan: approved, rest } = await part(plan, selection);
    expect(targetsOf(approved).sort()).toEqual(expected);
    expect(approved).toMatchObject({
      status: 'approved',
      decidedBy: 'ada',
      runId: plan.runId,
      expiresAt: plan.expiresAt,
    });
    expect(rest).toMatchObject({ status: 'pending', runId: plan.runId, expiresAt: plan.expiresAt });
    await on.apply(approved);
    expect([...on.platform.effects].sort()).toEqual(expected.map((target) => `ban ${target}`));
    await on.apply(await on.approve(rest));
    expect(on.platform.effects).toHaveLength(4);
  });

  it('of keys has exactly those actions, and a key that the plan does not have is refused', async () => {
    const plan = await waitingPlan();
    await expect(part(plan, { keys: ['nothing'] })).rejects.toMatchObject({ code: 'usage' });
    await expect(part(plan, { keys: [] })).rejects.toMatchObject({ code: 'usage' });
    const [first, , third] = plan.intents;
    const { plan: approved } = await part(plan, { keys: [first!.key, third!.key] });
    expect(targetsOf(approved)).toEqual([first!.target, third!.target]);
  });

  it('without an owner is refused while the owners of some device are not known', async () => {
    const plan = await waitingPlan();
    const devices = (owners: readonly string[] | undefined) =>
      plan.intents.map((intent) => {
        const known = intent.effect.devices.map(({ owners: _, ...one }) => (owners ? { ...one, owners } : one));
        return { ...intent, effect: { ...intent.effect, devices: known } };
      });
    const [first, ...others] = devices(['ada@x.org']) as [PlannedIntent, ...PlannedIntent[]];
    const unknown = { ...plan, intents: [first, ...devices(undefined).slice(1)] };
    const without = { ...ALL, except: ['ADA@x.org'] };
    expect(() => chooseFrom(unknown, without)).toThrow('are not known: give serial numbers instead');
    expect(chooseFrom(unknown, { ...ALL, only: ['ADA@x.org'] }).chosen).toEqual([first]);
    const bos = others.map((one) => ({ ...one, effect: { ...one.effect, devices: [] } }));
    expect(chooseFrom({ ...plan, intents: [first, ...bos] }, without).chosen).toEqual(bos);
  });

  it('that is all of it approves the plan itself', async () => {
    const plan = await waitingPlan();
    expect(await part(plan, { except: [] })).toMatchObject({
      plan: { id: plan.id, status: 'approved' },
      rest: undefined,
    });
    expect(await on.store.plans({}, 10)).toHaveLength(1);
  });

  it('is sealed and recorded in one commit, and the plan waits on without it', async () => {
    const plan = await waitingPlan();
    const { plan: approved, rest } = await part(plan, { only: ['d1'] });
    expect(await stored(plan)).toEqual(rest);
    expect(rest).toMatchObject({ id: plan.id, status: 'pending', createdAt: plan.createdAt });
    const sealed = { plan: approved.id, digest: approved.digest, run: plan.runId, intents: 1 };
    expect((await bodies('plan.sealed'))[0]).toEqual(sealed);
    const left = { action: 'ban_device', target: 'S-d1', reason: `it is approved in plan ${approved.id}` };
    const counts = { intents: 3, joined: 0, changed: 0, left: 1, leftNamed: [left] };
    expect(await bodies('plan.carried')).toEqual([
      { plan: plan.id, digest: rest?.digest, from: plan.digest, part: approved.id, ...counts },
    ]);
    expect(await bodies('plan.approved')).toEqual([
      { plan: approved.id, digest: approved.digest, by: 'ada', reason: 'looked at these', partOf: plan.id },
    ]);
  });

  it('is not planned again while it waits to be applied, and the rest is kept', async () => {
    const { plan: approved, rest } = await part(await waitingPlan(), { rules: ['ban'] });
    const { plan: next, decisions } = await on.run();
    expect(next).toMatchObject({ id: rest?.id, status: 'pending' });
    expect(decisions.map(({ decision }) => decision)).toEqual(Array(5).fill('hold'));
    expect((await stored(approved)).status).toBe('approved');
    await on.apply(approved);
    expect((await on.run()).plan?.id).toBe(rest?.id);
  });

  it('that expired is planned again', async () => {
    const { plan: approved } = await part(await waitingPlan(), { rules: ['ban'] });
    on.clock.pass(86_400_000);
    const { plan: next } = await on.run();
    expect(targetsOf(next as Plan).sort()).toEqual(['S-d1', 'S-d2', 'S-d3', 'S-d4']);
    await expect(on.apply(approved)).rejects.toThrow('expired');
  });

  it('whose facts changed is planned again, and refused when it is applied', async () => {
    const { plan: approved, rest } = await part(await waitingPlan(), { only: ['d1'] });
    on.rules(banRule({ id: 'ban', mode: 'approve', more: 'owners: all' }), other);
    const { plan: next } = await on.run();
    expect(targetsOf(next as Plan)).toContain('S-d1');
    expect(next?.id).toBe(rest?.id);
    const { refused } = await on.apply(approved);
    expect(refused).toMatchObject([{ reason: expect.stringContaining('rule ban was changed meanwhile') }]);
  });

  it('and the rest stay together within the ceiling of the run', async () => {
    const ceilings = { run: { max: 3, percent: 0 }, day: { max: 100, percent: 0 } };
    const plan = await waitingPlan({ settings: (given) => ({ ...given, act: { ...given.act, ceilings } }) });
    const { plan: approved, rest } = await part(plan, { rules: ['ban'] });
    await on.apply(approved);
    await on.apply(await on.approve(rest));
    expect(on.platform.effects).toHaveLength(3);
  });

  it('of the rest can be approved in turn', async () => {
    const { rest } = await part(await waitingPlan(), { only: ['d1'] });
    const { plan: second, rest: left } = await part(rest as Plan, { only: ['d2'] });
    expect([targetsOf(second), targetsOf(left as Plan).sort()]).toEqual([['S-d2'], ['S-d3', 'S-d4']]);
  });

  it('rejects nothing: what is rejected later is the rest', async () => {
    const { plan: approved, rest } = await part(await waitingPlan(), { only: ['d1'] });
    await answerPlan(on.engine, rest?.id ?? '', 'reject', { by: 'ada', reason: 'known' });
    await on.apply(approved);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect((await on.run()).decisions.filter(({ reason }) => reason === 'rejected')).toHaveLength(4);
  });

  it('never runs before what goes first on its target: a deletion waits for the ban in another plan', async () => {
    const deletion = banRule({ id: 'delete', mode: 'approve', field: 'Other', does: 'delete_device' });
    on = startOnPlatform({ rules: [ban, deletion] });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    const { plan } = await on.run();
    expect(plan?.intents.map(({ action }) => action)).toEqual(['ban_device', 'ban_device']);
    const { plan: approved } = await part(plan as Plan, { only: ['d1'] });
    expect((await on.run()).plan?.intents).toMatchObject([{ action: 'ban_device', target: 'S-d2' }]);
    await on.apply(approved);
    const { plan: next } = await on.run();
    const planned = next?.intents.map(({ action, target }) => `${action} ${target}`).sort();
    expect(planned).toEqual(['ban_device S-d2', 'delete_device S-d1']);
  });

  it.each<[string, Partial<PlanSelection>, string]>([
    ['a rule', { rules: ['ban', 'bann'] }, 'has nothing of rule `bann`: its rules are ban, other'],
    ['a target', { only: ['S-d1', 'S-d9'] }, 'only: plan'],
    ['an exception', { except: ['S-d9'] }, 'has no target or subject `S-d9`: `trustward plans'],
    ['nothing', { rules: ['other'], only: ['S-d4'] }, '`ban_device S-d4` is of rule `ban` too: name each of its rules'],
    ['nothing', { only: ['d1'], except: ['d1'] }, 'is chosen: no action fits all that is named'],
  ])('that names %s the plan does not have is refused, and the plan waits on', async (_, selection, message) => {
    const plan = await waitingPlan();
    await expect(part(plan, selection)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
    });
    expect(await on.store.plans({}, 10)).toMatchObject([{ id: plan.id, status: 'pending' }]);
  });

  it('is refused for a plan that somebody edited', async () => {
    const plan = await waitingPlan();
    const [first] = plan.intents as [PlannedIntent];
    await on.store.changePlan({ ...plan, intents: [{ ...first, target: 'S-evil' }, ...plan.intents.slice(1)] }, [], []);
    await expect(part(plan, { only: ['d2'] })).rejects.toThrow('its intents do not match its digest');
  });

  it('is made whole or not at all, wherever the process ends', async () => {
    for (let step = 1; ; step += 1) {
      const plan = await waitingPlan();
      const life = new Life(step);
      const engine = { ...on.engine, store: mortal(on.engine.store, life) };
      const answer = approvePart(engine, plan.id, { ...ALL, only: ['d1'] }, { by: 'ada' });
      const isEnded = await answer.then(
        () => false,
        (error) => error instanceof Crash || Promise.reject(error),
      );
      const plans = await on.store.plans({}, 10);
      const waiting = plans.filter(({ status }) => status === 'pending' || status === 'approved');
      expect(waiting.flatMap(targetsOf).sort()).toEqual(['S-d1', 'S-d2', 'S-d3', 'S-d4']);
      if (!isEnded) break;
      await on.close();
    }
  });
});

describe('a plan that changed while it was read', () => {
  const read = (plan: Plan, selection: Partial<PlanSelection> = {}) =>
    part(plan, { digest: plan.digest, ...selection });

  /** `d1` leaves it and `d5` joins. */
  async function carriedPlan(): Promise<{ plan: Plan; now: Plan }> {
    const plan = await waitingPlan();
    on.platform.compromised('d1', 'FALSE');
    on.platform.addDevice('d5', compromised);
    on.clock.pass(60_000);
    return { plan, now: (await on.run()).plan as Plan };
  }

  it('stays, with a new date, and names what left it and why', async () => {
    const { plan, now } = await carriedPlan();
    expect(now).toMatchObject({ id: plan.id, status: 'pending' });
    expect([now.runId === plan.runId, now.createdAt > plan.createdAt]).toEqual([false, true]);
    expect(targetsOf(now).sort()).toEqual(['S-d2', 'S-d3', 'S-d4', 'S-d5']);
    const left = [{ action: 'ban_device', target: 'S-d1', reason: 'rule ban has ceased to match' }];
    expect(await on.store.planRevisions(plan.id)).toEqual([
      { digest: plan.digest, runId: plan.runId, createdAt: plan.createdAt, change: { joined: 1, changed: 0, left } },
    ]);
    expect(await on.store.planAt(plan.id, plan.digest)).toEqual({ ...now, ...plan, expiresAt: now.expiresAt });
  });

  it('is approved as far as it was read and still is so: what joined waits on, and never acts by that approval', async () => {
    const { plan } = await carriedPlan();
    const { plan: approved, rest, missed } = await read(plan);
    expect(targetsOf(approved).sort()).toEqual(['S-d2', 'S-d3', 'S-d4']);
    expect([rest?.id, targetsOf(rest as Plan)]).toEqual([plan.id, ['S-d5']]);
    expect(missed).toEqual([{ action: 'ban_device', target: 'S-d1', reason: 'rule ban has ceased to match' }]);
    await on.apply(approved);
    expect([...on.platform.effects].sort()).toEqual(['ban S-d2', 'ban S-d3', 'ban S-d4']);
  });

  it('is approved without what was changed since it was read', async () => {
    const plan = await waitingPlan();
    on.rules(banRule({ id: 'ban', mode: 'approve', more: 'owners: all' }), other);
    await on.run();
    const { plan: approved, rest, missed } = await read(plan);
    expect(targetsOf(approved)).toEqual(['S-d3']);
    expect(targetsOf(rest as Plan).sort()).toEqual(['S-d1', 'S-d2', 'S-d4']);
    expect(missed.map(({ reason }) => reason)).toEqual(Array(3).fill('it has changed since it was read'));
  });

  it('is not answered by its id alone once something joined it: the digest of what was read is asked for', async () => {
    const { plan, now } = await carriedPlan();
    const message = `has changed since it was made (1 joined, 1 left): read it, and give the digest that you read (now ${now.digest.slice(0, 16)})`;
    await expect(part(plan, {})).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(message) });
    await expect(part(plan, { digest: 'f'.repeat(16) })).rejects.toThrow('has no content of digest');
    const { plan: approved } = await part(plan, { digest: now.digest.slice(0, 16) });
    expect(approved).toMatchObject({ id: plan.id, digest: now.digest, status: 'approved' });
  });

  it('is rejected as far as it was read: what joined waits on', async () => {
    const { plan } = await carriedPlan();
    const whole = { ...ALL, digest: plan.digest };
    const { plan: rejected, rest } = await answerPart(on.engine, plan.id, 'reject', whole, { by: 'ada' });
    expect([rejected.status, targetsOf(rejected).sort()]).toEqual(['rejected', ['S-d2', 'S-d3', 'S-d4']]);
    expect(targetsOf(rest as Plan)).toEqual(['S-d5']);
    expect((await on.run()).plan).toMatchObject({ id: plan.id, intents: [{ target: 'S-d5' }] });
  });

  it('is refused, by name, when nothing of what was chosen is as it was read', async () => {
    const { plan } = await carriedPlan();
    const message = `nothing that you chose of plan ${plan.id} is as it was read: ban_device S-d1 (rule ban has ceased to match)`;
    await expect(read(plan, { only: ['d1'] })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(message),
    });
  });

  it('is refused when what was read was edited beside the engine', async () => {
    const { plan } = await carriedPlan();
    const store = Object.assign(Object.create(on.engine.store), {
      planAt: async () => ({ ...plan, intents: (await stored(plan)).intents }),
    });
    const answer = approvePart({ ...on.engine, store }, plan.id, { ...ALL, digest: plan.digest }, { by: 'ada' });
    await expect(answer).rejects.toThrow('has no content of digest');
  });

  it('is as it was for who reads it again after a part of it was approved', async () => {
    const plan = await waitingPlan();
    await part(plan, { only: ['d1'] });
    const { plan: second, missed } = await read(plan);
    expect(second).toMatchObject({ id: plan.id, status: 'approved' });
    expect(targetsOf(second).sort()).toEqual(['S-d2', 'S-d3', 'S-d4']);
    expect(missed).toMatchObject([{ target: 'S-d1', reason: expect.stringContaining('it is approved in plan') }]);
  });

  it('says so when the next run planned nothing', async () => {
    const plan = await waitingPlan();
    for (const id of ['d1', 'd2', 'd3', 'd4']) on.platform.patch(id, { MdmData: { CompromisedStatus: 'FALSE' } });
    await on.run();
    await expect(on.approve(plan)).rejects.toThrow(`plan ${plan.id} is superseded by a run that planned nothing`);
  });
});

describe('of two answers at a time', () => {
  it('one is refused, and the plan is approved once', async () => {
    const plan = await waitingPlan();
    const answers = [
      answerPlan(on.engine, plan.id, 'approve', { by: 'ada' }),
      answerPlan(on.engine, plan.id, 'reject', { by: 'bob' }),
      part(plan, { only: ['d1'] }),
    ];
    const ended = await Promise.allSettled(answers);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    const recorded = [...(await bodies('plan.approved')), ...(await bodies('plan.rejected'))];
    expect(recorded).toHaveLength(1);
  });

  it('an approved plan is applied once', async () => {
    const waiting = await waitingPlan();
    const plan = await on.approve(waiting);
    const ended = await Promise.allSettled([
      applyPlan(on.engine, plan.id, { by: 'ada' }),
      applyPlan(on.engine, plan.id, { by: 'bob' }),
    ]);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(on.platform.sent).toHaveLength(4);
  });
});

describe('the two parts of any plan', () => {
  const rules = ['a', 'b', 'c'];
  const intents = fc.uniqueArray(
    fc.record({ target: fc.integer({ min: 0, max: 30 }), rules: fc.subarray(rules, { minLength: 1 }) }),
    {
      selector: ({ target }) => target,
      minLength: 1,
    },
  );
  const picks = fc.array(fc.nat({ max: 30 }), { maxLength: 6 });

  it('are together the plan, have nothing in common, and keep its order', async () => {
    const plan = await waitingPlan();
    const [model] = plan.intents as [PlannedIntent];
    fc.assert(
      fc.property(intents, fc.subarray(rules), picks, picks, (made, byRule, only, except) => {
        const whole = planOf(plan, model, made);
        const known = new Set(made.map(({ target }) => target));
        const named = (numbers: number[]) => numbers.filter((one) => known.has(one)).map((one) => `s-${one}`);
        const has = (rule: string) => made.some((one) => one.rules.includes(rule));
        const selection = { rules: byRule.filter(has), only: named(only), except: named(except) };
        const chosen = chosenOf(whole, selection);
        if (chosen === undefined || chosen.rest.length === 0) return;
        const approved = partOf(whole, chosen.chosen, 'p', 5);
        const rest = withoutPart(whole, chosen.rest, approved).rest.plan;
        const places = (one: Plan) => one.intents.map((intent) => whole.intents.indexOf(intent));
        expect([...places(approved), ...places(rest)].sort((a, b) => a - b)).toEqual([...whole.intents.keys()]);
        for (const one of [approved, rest]) {
          expect(places(one)).toEqual(places(one).sort((a, b) => a - b));
          expect(one.digest).toBe(planDigest(one.intents));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('do exactly what each of them has, for any selection', { timeout: 300_000 }, async () => {
    const names = fc.subarray(['d1', 's-d2', 'D3', 'S-D4']);
    await fc.assert(
      fc.asyncProperty(fc.subarray(['ban', 'other']), names, names, async (byRule, only, except) => {
        const plan = await waitingPlan();
        const chosen = chosenOf(plan, { rules: byRule, only, except });
        if (chosen) {
          const { plan: approved, rest } = await part(plan, { rules: byRule, only, except });
          await on.apply(approved);
          expect(on.platform.effects).toEqual(chosen.chosen.map(({ target }) => `ban ${target}`));
          if (rest) await on.apply(await on.approve(rest));
          expect([...on.platform.effects].sort()).toEqual(
            targetsOf(plan)
              .map((target) => `ban ${target}`)
              .sort(),
          );
        }
        await on.close();
      }),
      { numRuns: 12 },
    );
    await waitingPlan();
  });

  function planOf(plan: Plan, model: PlannedIntent, made: { target: number; rules: string[] }[]): Plan {
    const [basis] = model.basis as [PlannedIntent['basis'][number]];
    return {
      ...plan,
      intents: made.map((one) => ({
        ...model,
        key: `k${one.target}`,
        target: `S-${one.target}`,
        basis: one.rules.map((rule) => ({ ...basis, rule })),
      })),
    };
  }

  function chosenOf(plan: Plan, selection: PlanSelection) {
    try {
      return chooseFrom(plan, selection);
    } catch {
      return undefined;
    }
  }
});
