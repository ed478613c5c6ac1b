// test: a ban and a deletion of one device: the ban is done at once, the deletion after its approval, and the claims on
// the device end with it.
import { afterEach, describe, expect, it } from 'vitest';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const ban = banRule({ id: 'ban' });
const lost = banRule({ id: 'lost', field: 'Other', does: 'delete_device' });
const LOST = { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } };
const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

function start(...rules: Parameters<OnPlatform['rules']>): void {
  on = startOnPlatform({ rules: rules.length > 0 ? rules : [ban, lost] });
  on.platform.addDevice('d1', { ...BOTH, Emails: [] });
}

const claims = async () => (await on.store.claims({})).map(({ rule, status }) => `${rule}: ${status}`);

describe('a device that one rule bans and another one deletes', () => {
  it('is banned in the first run, and deleted after an approval; then nothing is claimed or proposed for it', async () => {
    start();
    const first = await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(first.plan).toBeUndefined();
    on.clock.pass(QUIET_MS);
    const { plan } = await on.run();
    expect(plan?.intents).toMatchObject([
      { action: 'delete_device', effect: { text: expect.stringContaining('rule ban') } },
    ]);
    await on.apply(await on.approve(plan));
    expect(on.platform.effects).toEqual(['ban S-d1', 'delete S-d1']);
    expect(await claims()).toEqual(['ban: ended']);
    const { episodes } = await on.store.openState(on.clock.now);
    expect(episodes.filter(({ rule }) => rule === 'ban')).toEqual([]);
    on.clock.pass(QUIET_MS);
    const after = await on.run();
    expect([after.decisions, after.plan]).toEqual([[], undefined]);
  });

  it('is banned again when it is registered again and still matches: a new episode, not a reversal', async () => {
    start();
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.apply(await on.approve((await on.run()).plan));
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' }, Emails: [] });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'delete S-d1', 'ban S-d1']);
    expect(await claims()).toEqual(['ban: ended', 'ban: standing']);
  });

  it('is not deleted by a plan from before the ban: a new approval is needed', async () => {
    start();
    on.platform.patch('d1', LOST);
    const { plan } = await on.run();
    const approved = await on.approve(plan);
    on.platform.patch('d1', BOTH);
    await on.run();
    const { refused } = await on.apply(approved);
    expect(refused).toMatchObject([
      { reason: 'the last run held it (other_first): rule ban wants ban_device for the same target first' },
    ]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    on.clock.pass(QUIET_MS);
    expect((await on.run()).plan?.id).not.toBe(plan?.id);
  });

  it('is not deleted by a plan that names fewer claims than would end: that needs a new plan', async () => {
    start();
    await on.run();
    on.clock.pass(QUIET_MS);
    const first = (await on.run()).plan;
    expect(first?.intents[0]?.effect.ends).toEqual(['ban_device of rule ban']);
    on.rules(ban, lost, banRule({ id: 'second' }));
    on.clock.pass(QUIET_MS);
    const { plan } = await on.run();
    expect(plan?.intents[0]?.effect.ends).toEqual(['ban_device of rule ban', 'ban_device of rule second']);
    expect(await on.store.plan(first?.id ?? '')).toMatchObject({ status: 'superseded' });
    on.clock.pass(QUIET_MS);
    expect((await on.run()).plan?.id).toBe(plan?.id);
  });

  it('is deleted after the ban was rejected', async () => {
    start(banRule({ id: 'ban', mode: 'approve' }), lost);
    const { plan } = await on.run();
    expect(plan?.intents.map(({ action }) => action)).toEqual(['ban_device']);
    await answerPlan(on.engine, plan?.id ?? '', 'reject', 'ada', 'not this one');
    const next = await on.run();
    await on.apply(await on.approve(next.plan));
    expect(on.platform.effects).toEqual(['delete S-d1']);
  });
});
