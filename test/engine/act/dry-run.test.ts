// test: a dry run sends no writing request, whatever earlier live runs left behind.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
beforeEach(() => {
  on = startOnPlatform();
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
});
afterEach(() => on.close());

describe('a dry run', () => {
  it('shows what a live run would do, and sends nothing', async () => {
    const { decisions } = await on.run('dry-run');
    expect(decisions).toMatchObject([{ decision: 'act', outcome: 'dry_run', target: 'S-d1' }]);
    expect(on.platform.sent).toEqual([]);
  });

  it('does not send again what failed in a live run before it', async () => {
    on.platform.answer('S-d1', 'failed');
    await on.run('enforce');
    expect(on.platform.sent).toEqual(['ban S-d1']);
    const { decisions } = await on.run('dry-run');
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(decisions).toMatchObject([{ decision: 'act', mode: 'dry-run' }]);
  });

  it('does not send again what a live run left in doubt; the next live run does, once', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run('enforce');
    on.clock.pass(QUIET_MS);
    await on.run('dry-run');
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await on.intents()).toMatchObject([{ status: 'settled', outcome: 'unknown' }]);
    await on.run('enforce');
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
  });

  it('is what a run becomes when the daemon has mode dry-run, and when the rule has', async () => {
    on.rules(banRule({ mode: 'dry-run' }));
    await on.run('enforce');
    const capped = startOnPlatform({ daemonMode: 'dry-run' });
    capped.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    const { decisions } = await capped.run('enforce');
    expect(decisions).toMatchObject([{ decision: 'act', mode: 'dry-run', cappedBy: 'daemon', outcome: 'dry_run' }]);
    expect([...on.platform.sent, ...capped.platform.sent]).toEqual([]);
    await capped.close();
  });

  it('does not send a retry for a rule that was set to dry-run after its call was lost', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run('enforce');
    on.clock.pass(QUIET_MS);
    on.rules(banRule({ mode: 'dry-run' }));
    await on.run('enforce');
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });
});
