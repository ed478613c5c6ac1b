// test: a person's change wins every time: whoever sees it first records it for every rule, and until it can be told from a stale
// read nobody acts on the target.
import { afterEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../support/looks.ts';

let on: OnPlatform;
afterEach(() => on.close());

const AT_ONCE = banRule({ id: 'at-once' });
const LATER = banRule({ id: 'later', more: 'for: 2s' });
/** Over the same devices, and matching none. */
const OTHER = banRule({ id: 'other', field: 'Other' });

/** `d1` is banned by the first of the rules; a day of normal lists lies behind. */
async function banned(...rules: ReturnType<typeof banRule>[]): Promise<void> {
  on = startOnPlatform({ rules });
  for (const id of ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'])
    on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' } });
  on.platform.compromised('d1', 'TRUE');
  await on.run();
  expect(on.platform.sent).toEqual(['ban S-d1']);
}

const liftBan = () => on.platform.patch('d1', { Banned: 'FALSE' });

const overridden = async () =>
  (await on.store.openState(on.clock.now)).episodes
    .filter(({ overriddenAt }) => overriddenAt !== undefined)
    .map(({ rule }) => rule)
    .sort();

describe('a ban that a person lifts', () => {
  it('is not repeated within the quiet period by a rule that did not ban it and is due now', async () => {
    await banned(AT_ONCE, LATER);
    liftBan();
    on.clock.pass(5_000);
    const { decisions } = await on.run();
    expect(decisions.map(({ rule, reason }) => `${rule} ${reason}`).sort()).toEqual([
      'at-once already_acted',
      'later in_doubt',
    ]);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toEqual(['at-once', 'later']);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is not repeated by a rule that matches since then, within the quiet period', async () => {
    await banned(AT_ONCE, OTHER);
    liftBan();
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.clock.pass(5_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to every rule when a run over another rule sees it first', async () => {
    await banned(AT_ONCE, LATER, OTHER);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run('enforce', ['other']);
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to a rule that looks do not judge when a look sees it first', async () => {
    await banned(AT_ONCE, banRule({ id: 'later', more: 'for: 2s\nwatch: false' }));
    liftBan();
    on.clock.pass(QUIET_MS);
    addEvent(on, 'd1');
    await lookOn(on);
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to a rule that could not be judged when it was seen', async () => {
    const last = banRule({ id: 'later', field: 'Other', more: 'for: 2s' });
    await banned(AT_ONCE, last);
    on.platform.patch('d1', { Banned: 'FALSE', MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run(); // too early to tell
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is not repeated by a rule that was missing when it was seen', async () => {
    await banned(AT_ONCE, LATER);
    on.rules(AT_ONCE);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run();
    on.rules(AT_ONCE, LATER);
    for (let round = 0; round < 3; round += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is nothing to a rule that was missing when it was seen and does something else', async () => {
    const DELETES = banRule({ id: 'deletes', does: 'delete_device', mode: 'approve' });
    await banned(AT_ONCE, DELETES);
    on.rules(AT_ONCE);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run();
    on.rules(AT_ONCE, DELETES);
    for (let round = 0; round < 2; round += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    const [plan] = await on.store.plans({ status: 'pending' }, 1);
    expect(plan?.intents).toMatchObject([{ action: 'delete_device', target: 'S-d1' }]);
  });

  it.each([1_000, QUIET_MS])(
    'is not repeated by an approved plan from before it, %i ms after the ban',
    async (afterMs) => {
      await banned(AT_ONCE, banRule({ id: 'asks', mode: 'approve' }));
      const [plan] = await on.store.plans({ status: 'pending' }, 1);
      expect(plan?.intents).toMatchObject([{ target: 'S-d1' }]);
      await on.approve(plan);
      liftBan();
      on.clock.pass(afterMs);
      await on.apply(plan);
      expect(on.platform.sent).toEqual(['ban S-d1']);
    },
  );
});
