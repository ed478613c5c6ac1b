// test: an approved plan: exactly it or less, once, in time; drifted targets are refused by name, and the rest
// continues.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const DAY_MS = 86_400_000;
const held = banRule({ mode: 'approve' });
let on: OnPlatform;

beforeEach(() => {
  on = startOnPlatform({ rules: [held] });
  for (const id of ['d1', 'd2']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
});
afterEach(() => on.close());

async function approvedPlan() {
  const { plan } = await on.run();
  expect(on.platform.sent).toEqual([]);
  return on.approve(plan);
}

describe('an approved plan', () => {
  it('is applied once, and its claims are undone later with approval', async () => {
    const plan = await approvedPlan();
    const { intents, refused } = await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
    expect(intents.map(({ outcome, approved }) => [outcome, approved])).toEqual([
      ['succeeded', true],
      ['succeeded', true],
    ]);
    expect(refused).toEqual([]);
    await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
    on.platform.compromised('d1', 'FALSE');
    const { plan: undo } = await on.run();
    expect(undo?.intents).toMatchObject([{ action: 'unban_device', undo: true, target: 'S-d1', held: true }]);
    await on.apply(await on.approve(undo));
    expect(on.platform.effects.at(-1)).toBe('unban S-d1');
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
  });

  it('refuses a target whose record drifted, with the field named, and applies the rest', async () => {
    const plan = await approvedPlan();
    on.platform.compromised('d1', 'UNSURE');
    const { intents } = await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-d2']);
    expect(intents.find(({ target }) => target === 'S-d1')).toMatchObject({
      status: 'withdrawn',
      note: 'changed since the plan was made: MdmData.CompromisedStatus was "TRUE" and is "UNSURE"',
    });
  });

  it('does not include a device that joined the serial number after the approval', async () => {
    const plan = await approvedPlan();
    on.platform.addDevice('d9', { SerialNumber: 'S-d1' });
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-d2']);
  });

  it('is refused when it expired, whether approved before or after', async () => {
    const plan = await approvedPlan();
    on.clock.pass(DAY_MS);
    await expect(on.apply(plan)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('expired'),
    });
    const { plan: next } = await on.run();
    on.clock.pass(DAY_MS);
    await expect(on.approve(next)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('expired'),
    });
    expect(on.platform.sent).toEqual([]);
  });

  it('is refused and stays approved while the daemon may change nothing', async () => {
    const plan = await approvedPlan();
    on.engine.daemonMode = 'dry-run';
    await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
    on.engine.daemonMode = 'enforce';
    await on.apply(plan);
    expect(on.platform.effects).toHaveLength(2);
  });

  it.each([
    ['is missing', () => on.rules(banRule({ id: 'other', field: 'Other' })), 'is missing or off'],
    ['is only dry', () => on.rules(banRule({ mode: 'dry-run' })), 'has mode dry-run now'],
    ['has another text', () => on.rules(banRule({ mode: 'approve', field: 'Other' })), 'was changed meanwhile'],
  ])('changes nothing when its rule %s by then', async (_, change, reason) => {
    const plan = await approvedPlan();
    change();
    const { refused } = await on.apply(plan);
    expect(on.platform.sent).toEqual([]);
    expect(refused).toMatchObject([{ reason: expect.stringContaining(reason) }, {}]);
  });

  it('leaves out what has cleared or was reversed since', async () => {
    const plan = await approvedPlan();
    on.platform.compromised('d1', 'FALSE');
    on.platform.patch('d2', { Banned: 'TRUE' });
    await on.run();
    on.platform.compromised('d1', 'TRUE');
    on.platform.patch('d2', { Banned: 'FALSE' });
    on.clock.pass(QUIET_MS);
    await on.run();
    const { refused } = await on.apply(plan);
    expect(on.platform.sent).toEqual([]);
    expect(refused.map(({ reason }) => reason)).toEqual([
      'rule ban has ceased to match d1 since',
      expect.stringMatching(/^a person reversed it \(seen .*\): left alone until the rule has ceased to match$/),
    ]);
  });

  it('does not repeat what a second plan of the same content did', async () => {
    const first = await approvedPlan();
    const { plan: second } = await on.run('dry-run');
    expect(second?.digest).toBe(first.digest);
    expect(second?.id).not.toBe(first.id);
    await on.apply(first);
    const { refused } = await on.apply(await on.approve(second));
    expect(on.platform.effects).toHaveLength(2);
    expect(refused.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^done by intent /),
      expect.stringMatching(/^done by intent /),
    ]);
  });

  it('may retry what failed before, as the same intent with its count of attempts', async () => {
    on.platform.answer('S-d1', 'failed', 'failed', 'failed', 'failed');
    await on.apply(await approvedPlan());
    for (let round = 0; round < 2; round += 1) {
      const { plan } = await on.run();
      await on.apply(await on.approve(plan));
    }
    expect(on.platform.sent.filter((sent) => sent === 'ban S-d1')).toHaveLength(3);
    expect((await on.store.intents({ outcome: 'parked' })).map(({ target, attempts }) => [target, attempts])).toEqual([
      ['S-d1', 3],
    ]);
    const { plan } = await on.run();
    expect(plan).toBeUndefined();
  });

  it('that broke off is interrupted: what was not begun returns in the next plan', async () => {
    on.platform.answer('S-d1', 'unauthorized');
    const plan = await approvedPlan();
    await expect(on.apply(plan)).rejects.toMatchObject({ code: 'api_refused' });
    expect((await on.store.plan(plan.id))?.status).toBe('interrupted');
    const { plan: next } = await on.run();
    expect(next?.intents.map(({ target }) => target)).toEqual(['S-d1', 'S-d2']);
  });

  it('may exceed a limit by what it sealed, and a ceiling by nothing', async () => {
    await on.close();
    on = startOnPlatform({
      rules: [banRule({ more: '' })].map((rule) => ({ ...rule, limits: { max: 1, percent: 100 } })),
      settings: (given) => ({
        ...given,
        act: { ...given.act, ceilings: { run: { max: 2, percent: 0 }, day: { max: 9, percent: 0 } } },
      }),
    });
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    const { plan, decisions } = await on.run();
    expect(new Set(decisions.map(({ reason }) => reason))).toEqual(new Set(['limits']));
    await on.apply(await on.approve(plan));
    expect(on.platform.effects).toHaveLength(2);
  });

  it('for an undo is refused when another rule claims the target by then', async () => {
    on.rules(banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other' }));
    await on.run();
    on.rules(banRule({ id: 'a', mode: 'approve' }), banRule({ id: 'b', field: 'Other' }));
    on.platform.compromised('d1', 'FALSE');
    const approved = await on.approve((await on.run()).plan);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
    await on.run();
    await on.apply(approved);
    expect(on.platform.isBanned('S-d1')).toBe(true);
  });

  it('for an undo leaves alone what a person banned meanwhile', async () => {
    on.rules(banRule());
    await on.run();
    on.rules(held);
    on.platform.compromised('d1', 'FALSE');
    on.clock.pass(QUIET_MS);
    const approved = await on.approve((await on.run()).plan);
    on.platform.patch('d1', { Banned: 'FALSE' });
    await on.run();
    on.platform.patch('d1', { Banned: 'TRUE' });
    await on.apply(approved);
    expect(on.platform.isBanned('S-d1')).toBe(true);
  });
});

describe('a waiting plan', () => {
  it('stays while nothing changes, and is superseded when something does', async () => {
    const { plan: first } = await on.run();
    expect((await on.run()).plan?.id).toBe(first?.id);
    on.platform.addDevice('d3', { MdmData: { CompromisedStatus: 'TRUE' } });
    const { plan: second } = await on.run();
    expect(second?.id).not.toBe(first?.id);
    expect((await on.store.plan(first?.id ?? ''))?.status).toBe('superseded');
    await expect(on.approve(first)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is superseded when a device joins a serial number, though no fact changed', async () => {
    const { plan: first } = await on.run();
    on.platform.addDevice('d9', { SerialNumber: 'S-d1' });
    expect((await on.run()).plan?.id).not.toBe(first?.id);
  });

  it('of a live run is not superseded by a dry run', async () => {
    const { plan } = await on.run();
    await on.run('dry-run');
    expect((await on.store.plan(plan?.id ?? ''))?.status).toBe('pending');
  });

  it('that is rejected does not return in the same episode', async () => {
    const { plan } = await on.run();
    await answerPlan(on.engine, plan?.id ?? '', 'reject', 'a person', 'known');
    const { plan: next, decisions } = await on.run();
    expect(next).toBeUndefined();
    expect(decisions.map(({ reason }) => reason)).toEqual(['rejected', 'rejected']);
    await expect(on.approve(plan)).rejects.toBeInstanceOf(AppError);
  });

  it('for an undo that is rejected leaves the ban, and does not return', async () => {
    on.rules(banRule());
    await on.run();
    on.rules(held);
    on.platform.compromised('d1', 'FALSE');
    const { plan } = await on.run();
    await answerPlan(on.engine, plan?.id ?? '', 'reject', 'a person', undefined);
    expect((await on.run()).plan).toBeUndefined();
    expect(on.platform.isBanned('S-d1')).toBe(true);
  });
});
