// test: rules that propose opposite actions on one device: both are named, the state does not alternate, and
// Trustward's own actions never count as a person's.
import { afterEach, describe, expect, it } from 'vitest';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

function said({ decisions }: Round): string[] {
  return decisions.map(({ rule, target, reason }) => `${rule} ${target}: ${reason}`).sort();
}

async function overridden(): Promise<string[]> {
  const { episodes } = await on.store.openState(on.clock.now);
  return episodes.filter(({ overriddenAt }) => overriddenAt !== undefined).map(({ rule }) => rule);
}

describe('a ban and an unban that both match', () => {
  const ban = banRule({ id: 'ban' });
  const unban = banRule({ id: 'unban', field: 'Other', does: 'unban_device' });

  it('are held where one of them is already in effect, naming the other, run after run', async () => {
    on = startOnPlatform({ rules: [ban, unban] });
    on.platform.addDevice('free', BOTH);
    on.platform.addDevice('banned', { ...BOTH, Banned: 'TRUE' });
    for (let round = 0; round < 3; round += 1) {
      const seen = await on.run();
      expect(said(seen)).toEqual([
        'ban S-banned: already_so',
        'ban S-free: conflict',
        'unban S-banned: conflict',
        'unban S-free: already_so',
      ]);
      expect(
        seen.decisions
          .filter(({ reason }) => reason === 'conflict')
          .map(({ reasonText }) => reasonText)
          .sort(),
      ).toEqual([
        'rule ban wants ban_device for the same target, and the target is already in that state',
        'rule unban wants unban_device for the same target, and the target is already in that state',
      ]);
      on.clock.pass(QUIET_MS);
    }
    expect(on.platform.sent).toEqual([]);
    expect(await overridden()).toEqual([]);
  });

  it.each([
    ['whose `for` is not reached', banRule({ id: 'ban', more: 'for: 1h' })],
    ['on trial', banRule({ id: 'ban', mode: 'dry-run' })],
  ])('do not hold each other for a rule %s, and our own unban does not count as a person’s', async (_, waiting) => {
    on = startOnPlatform({ rules: [waiting, unban] });
    on.platform.addDevice('d1', { ...BOTH, Banned: 'TRUE' });
    await on.run();
    expect(on.platform.effects).toEqual(['unban S-d1']);
    on.clock.pass(QUIET_MS);
    expect(said(await on.run())).not.toContain('ban S-d1: overridden');
    expect(await overridden()).toEqual([]);
  });

  it('do not count an unban that an operator resolved as done as a person’s', async () => {
    on = startOnPlatform({ rules: [banRule({ id: 'ban', more: 'for: 1h' }), unban] });
    on.platform.addDevice('d1', { ...BOTH, Banned: 'TRUE' });
    on.platform.answer('S-d1', 'hidden');
    await on.run();
    const [doubt] = await on.store.intents({ outcome: 'unknown' });
    await resolveIntent(on.engine, String(doubt?.id), 'done', { by: 'ada', reason: 'seen' });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toEqual([]);
  });

  it('end the claim of a ban that only waits for its undo, without naming a reversal', async () => {
    on = startOnPlatform({ rules: [ban] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.rules(banRule({ id: 'ban', mode: 'approve' }), unban);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect((await on.store.claims({})).map(({ status }) => status)).toEqual(['standing']);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect((await on.store.claims({})).map(({ rule, status }) => `${rule}: ${status}`)).toEqual(['ban: ended']);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' } });
    await on.run();
    expect(on.platform.isBanned('S-d1')).toBe(false);
  });

  it('are not held against an unban after a person lifted the ban', async () => {
    on = startOnPlatform({ rules: [ban] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    on.clock.pass(QUIET_MS);
    await on.run();
    on.platform.patch('d1', { Banned: 'TRUE', ...BOTH });
    on.rules(ban, unban);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
  });
});

describe('a released ban', () => {
  it('is not set again by another rule that waited meanwhile', async () => {
    on = startOnPlatform({
      rules: [banRule({ id: 'ban' }), banRule({ id: 'later', field: 'Other', more: 'for: 1h' })],
    });
    on.platform.addDevice('d1', BOTH);
    await on.run();
    await on.run();
    await releaseClaims(on.engine, 'S-d1', { by: 'ada', reason: 'she needs it' });
    on.clock.pass(QUIET_MS);
    await on.run();
    on.clock.pass(3_600_000);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    expect(await overridden()).toEqual(['ban', 'later']);
  });
});
