// test: an approved plan whose target was reversed before it is applied, without a run in between that could have seen
// it.
import { afterEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const enforcing = banRule({ id: 'enforcing', field: 'Other' });
const held = banRule({ id: 'held', mode: 'approve' });

function startWith(mdm: { CompromisedStatus: string; Other: string }): void {
  on = startOnPlatform({ rules: [enforcing, held] });
  on.platform.addDevice('d1', { MdmData: mdm });
}

/** The result of the plan: its one intent, and the number of bans. */
async function applied(plan: Awaited<ReturnType<OnPlatform['approve']>>) {
  const { intents } = await on.apply(plan);
  const bans = on.platform.sent.filter((call) => call === 'ban S-d1').length;
  return { bans, intents: intents.map(({ status, note }) => [status, note]) };
}

const REFUSED = [['withdrawn', 'a person reversed it: left alone until the rule has ceased to match']];

describe('an approved plan', () => {
  it('does not repeat a ban that another rule made meanwhile and a person lifted', async () => {
    startWith({ CompromisedStatus: 'TRUE', Other: 'FALSE' });
    const { plan } = await on.run();
    const agreed = await on.approve(plan);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run();
    await on.run(); // the waiting rule adopts the ban
    on.platform.patch('d1', { Banned: 'FALSE' });
    expect(await applied(agreed)).toEqual({ bans: 1, intents: REFUSED });
  });

  it('does not ban what a person banned and unbanned meanwhile', async () => {
    startWith({ CompromisedStatus: 'TRUE', Other: 'FALSE' });
    const { plan } = await on.run();
    const agreed = await on.approve(plan);
    on.platform.patch('d1', { Banned: 'TRUE' });
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    expect(await applied(agreed)).toEqual({ bans: 0, intents: REFUSED });
  });

  it('bans a device that joined a serial number with another device already banned', async () => {
    startWith({ CompromisedStatus: 'TRUE', Other: 'TRUE' });
    await on.run();
    await on.run(); // the waiting rule adopts the ban
    on.platform.addDevice('d2', { SerialNumber: 'S-d1' });
    const { plan } = await on.run();
    expect(await applied(await on.approve(plan))).toMatchObject({ bans: 2, intents: [['settled', 'Success']] });
  });
});
