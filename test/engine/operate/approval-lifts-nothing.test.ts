// test: what no approval lifts: another rule's open claim, a conflict or an untrusted source that a run saw meanwhile,
// and a call on the same target with an unknown result. It is refused by name, and the rest of the plan continues.
import { afterEach, describe, expect, it } from 'vitest';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const ban = banRule({ id: 'ban' });
const unban = banRule({ id: 'unban', field: 'Other', does: 'unban_device', mode: 'approve' });
const FIXED = { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } };
const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

/** Two devices that a person banned, and an approved plan to unban both. */
async function approvedUnban(rules = [ban, unban]) {
  on = startOnPlatform({ rules });
  for (const id of ['d1', 'd2']) on.platform.addDevice(id, { ...FIXED, Banned: 'TRUE' });
  const { plan } = await on.run();
  expect(plan?.intents.map(({ action, target }) => `${action} ${target}`)).toEqual([
    'unban_device S-d1',
    'unban_device S-d2',
  ]);
  return on.approve(plan);
}

/** By the other rule, while that of the plan was off. */
async function bannedMeanwhile() {
  on.platform.patch('d1', { ...BOTH, Banned: 'FALSE' });
  on.rules(ban);
  await on.run();
}

const openClaims = async () =>
  (await on.store.claims({ status: 'standing' })).map(({ rule, target }) => [rule, target]);

describe('an approved unban', () => {
  it('does not undo a ban that another rule claims by then, and that no run of its own rule has seen', async () => {
    const plan = await approvedUnban();
    await bannedMeanwhile();
    on.rules(ban, unban);
    const { intents } = await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d2']);
    expect(intents.map(({ target, status, note }) => [target, status, note])).toEqual([
      ['S-d1', 'withdrawn', 'rule ban holds a claim (ban_device) on the same target'],
      ['S-d2', 'settled', 'Success'],
    ]);
    expect(await openClaims()).toContainEqual(['ban', 'S-d1']);
  });

  it('does not undo the ban of a rule that is missing by then: an operator releases it', async () => {
    const plan = await approvedUnban();
    await bannedMeanwhile();
    on.rules(unban);
    await on.apply(plan);
    expect(on.platform.isBanned('S-d1')).toBe(true);
    await releaseClaims(on.engine, 'S-d1', { by: 'ada', reason: 'she needs it' });
    expect(on.platform.isBanned('S-d1')).toBe(false);
  });

  it('is done where the claim on the ban only waits to be undone', async () => {
    on = startOnPlatform({ rules: [ban, unban] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.rules(banRule({ id: 'ban', mode: 'approve' }), unban);
    on.platform.patch('d1', FIXED);
    on.clock.pass(QUIET_MS);
    await on.run(); // its undo waits for approval
    const { plan } = await on.run('enforce', ['unban']);
    await on.apply(await on.approve(plan));
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    expect((await openClaims()).filter(([rule]) => rule === 'ban')).toEqual([]);
  });

  it('does not lift a conflict that a run saw since, and the rest of the plan continues', async () => {
    const plan = await approvedUnban();
    on.platform.patch('d1', BOTH);
    await on.run();
    const { refused } = await on.apply(plan);
    expect(refused).toEqual([
      {
        action: 'unban_device',
        target: 'S-d1',
        reason:
          'the last run held it (conflict): rule ban wants ban_device for the same target, and the target is already in that state',
      },
    ]);
    expect(on.platform.effects).toEqual(['unban S-d2']);
  });

  it('is done when the conflict that a run saw has ended with the next one', async () => {
    const plan = await approvedUnban();
    on.platform.patch('d1', BOTH);
    await on.run();
    on.platform.patch('d1', FIXED);
    await on.run();
    expect((await on.apply(plan)).refused).toEqual([]);
    expect(on.platform.effects).toEqual(['unban S-d1', 'unban S-d2']);
  });

  it('is not done on a serial number that was configured as a placeholder since', async () => {
    const plan = await approvedUnban();
    const { settings } = on.engine;
    on.engine.settings = { ...settings, decide: { ...settings.decide, placeholderSerials: ['s-d1'] } };
    await on.run();
    const { refused } = await on.apply(plan);
    expect(refused.map(({ target, reason }) => [target, reason.slice(0, 48)])).toEqual([
      ['S-d1', 'the last run skipped it (impossible_target): `S-'],
    ]);
    expect(on.platform.effects).toEqual(['unban S-d2']);
  });

  it('is not done on a source that was untrusted when last read', async () => {
    on = startOnPlatform({ rules: [unban], settings: (given) => ({ ...given, trust: TRUST_DEFAULT }) });
    for (let i = 0; i < 40; i += 1) on.platform.addDevice(`d${i}`, i < 2 ? { ...FIXED, Banned: 'TRUE' } : {});
    const { plan } = await on.run();
    const approved = await on.approve(plan);
    for (let i = 20; i < 40; i += 1) on.platform.devices.delete(`d${i}`);
    await on.run();
    const { refused } = await on.apply(approved);
    expect(refused).toMatchObject([
      {
        target: 'S-d0',
        reason: expect.stringMatching(/^nothing is done on untrusted data: devices: .* \(as last read\)$/),
      },
      { target: 'S-d1' },
    ]);
    expect(on.platform.sent).toEqual([]);
  });
});

describe('a second call', () => {
  const low = banRule({ id: 'low', field: 'Other', mode: 'approve' });

  /** One device that two rules ban: the first call is in doubt, the second waits in an approved plan. */
  async function doubtful() {
    on = startOnPlatform({ rules: [ban, low] });
    on.platform.addDevice('d1', BOTH);
    on.platform.answer('S-d1', 'lost');
    const { plan } = await on.run();
    expect(plan?.intents.map(({ basis }) => basis.map(({ rule }) => rule))).toEqual([['low']]);
    return on.approve(plan);
  }

  it('is not sent to a target while the first one, of another rule, is in doubt', async () => {
    const plan = await doubtful();
    on.clock.pass(1_700);
    const { intents } = await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    const [doubt] = await on.store.intents({ outcome: 'unknown' });
    expect(intents).toMatchObject([
      { status: 'withdrawn', note: `intent ${doubt?.id} (ban_device) on the same target is not resolved yet` },
    ]);
    const [refused] = await on.store.decisions({ target: 'S-d1', rule: 'low', limit: 1 });
    expect(refused).toMatchObject({ decision: 'skip', reason: 'in_doubt' });
  });

  it('is not sent by one plan whose first call is in doubt', async () => {
    on = startOnPlatform({ rules: [ban, low] });
    on.platform.addDevice('d1', BOTH);
    on.platform.answer('S-d1', 'lost');
    const { plan } = await on.run('dry-run');
    expect(plan?.intents).toHaveLength(2);
    await on.apply(await on.approve(plan));
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('of the doubtful intent itself is its one retry', async () => {
    await doubtful();
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(on.platform.sent).toHaveLength(2);
  });

  it('for a parked intent on an operator command is not sent while another one is in doubt', async () => {
    on = startOnPlatform({ rules: [ban] });
    on.platform.addDevice('d1', BOTH);
    on.platform.answer('S-d1', 'lost', 'lost', 'lost');
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
    const [parked] = await on.store.intents({ outcome: 'parked' });
    on.rules(ban, banRule({ id: 'low', field: 'Other' }));
    await on.run();
    expect(on.platform.sent).toHaveLength(3);
    await resolveIntent(on.engine, String(parked?.id), 'retry', { by: 'ada', reason: 'it is back' });
    // The other one's quiet period is not over.
    await on.run();
    expect(on.platform.sent).toHaveLength(3);
    expect(await on.store.intent(String(parked?.id))).toMatchObject({
      outcome: 'parked',
      note: expect.stringContaining('on the same target is not resolved yet'),
    });
  });
});
