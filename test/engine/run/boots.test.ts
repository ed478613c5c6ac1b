// test: one-shot runs, each on another boot: a job over several nodes, a machine that is up only for the run.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

const HOUR_MS = 3_600_000;

let on: OnPlatform;
let boots: number;
beforeEach(() => {
  on = startOnPlatform({ rules: [banRule({ cooldown: '1h' })] });
  boots = 0;
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
});
afterEach(() => on.close());

/** An hour later. */
async function runOnNextBoot(): Promise<Round> {
  boots += 1;
  on.clock.pass(HOUR_MS);
  on.clock.boot = `boot ${boots}`;
  on.restart();
  return on.run();
}

const said = ({ decisions }: Round) => decisions.map(({ decision, reason }) => `${decision} ${reason}`).join(', ');

describe('with each run on another boot', () => {
  it('a failed ban is retried', async () => {
    on.platform.answer('S-d1', 'failed');
    await on.run();
    expect(said(await runOnNextBoot())).toBe('act rule_matches');
    expect(on.platform.isBanned('S-d1')).toBe(true);
  });

  it('a person’s reversal of a ban is recognized', async () => {
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    expect(said(await runOnNextBoot())).toBe('skip overridden');
  });

  it('a device that is compromised again is banned again', async () => {
    await on.run();
    on.platform.compromised('d1', 'FALSE');
    await runOnNextBoot();
    await runOnNextBoot();
    on.platform.compromised('d1', 'TRUE');
    await runOnNextBoot();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
  });

  it('a doubt is read back by a run that does not wait', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run();
    await runOnNextBoot();
    expect(on.platform.sent).toHaveLength(2);
  });

  it('an attempt by a clock a year ahead does not block later ones for a year', async () => {
    on.platform.answer('S-d1', 'failed');
    on.clock.now += 365 * 24 * HOUR_MS;
    on.restart();
    await on.run();
    on.clock.now -= 365 * 24 * HOUR_MS;
    expect(said(await runOnNextBoot())).toBe('skip cooldown');
    on.platform.answer('S-d1', 'failed');
    expect(said(await runOnNextBoot())).toBe('act rule_matches');
    on.clock.pass(HOUR_MS - 1);
    expect(said(await on.run())).toBe('skip cooldown');
    on.clock.pass(1);
    expect(said(await on.run())).toBe('act rule_matches');
  });

  it('a doubt of a missing rule is not resolved early by a clock that differs from the server’s', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.rules();
    on.platform.skewMs = () => -HOUR_MS;
    await runOnNextBoot();
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['unknown']);
  });
});
