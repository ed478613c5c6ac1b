// test: one subject that somebody asked about is read now: what it mended ends and is undone through the same checks; it begins nothing, and undoes nothing on
// an older report. The real engine on the platform in memory.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Mode } from '../../../src/domain/rule.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { checkAgain } from '../../../src/engine/operate/check-again.ts';
import { addExemption, stopEverything } from '../../../src/engine/operate/commands.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { recordRequests } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

const MINUTE = 60_000;
const WHO = 'person ann@example.org';

let on: OnPlatform;
afterEach(() => on.close());

const check = (id = 'd1') => checkAgain(on.engine, 'device', id, WHO);
const report = (id: string, value: string) => on.platform.compromised(id, value);

/** Banned by a whole run; a minute has passed. */
async function banned(more = '', mode: Mode = 'enforce'): Promise<void> {
  on = startOnPlatform({ rules: [banRule({ more, mode })] });
  on.platform.addDevice('d1');
  on.platform.addDevice('d2');
  report('d1', 'TRUE');
  await on.run();
  on.clock.pass(MINUTE);
}

describe('a check again', () => {
  it('undoes what was mended, with the person in the audit, and the next whole run agrees', async () => {
    await banned();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    report('d1', 'FALSE');
    const done = await check();
    expect(done).toMatchObject({
      isRepeat: false,
      found: { name: expect.any(String), rules: [{ rule: 'ban', verdict: 'mended' }] },
    });
    expect(done.found.rules).toMatchObject([{ rule: 'ban', verdict: 'mended', hasEnded: true }]);
    expect(done.undos).toMatchObject([{ action: 'unban_device', decision: 'act', outcome: 'succeeded' }]);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    const [begun] = await on.store.audit({ kind: 'run.started', limit: 1 });
    expect(begun?.bytes).toContain(`"by":"${WHO}"`);
    on.clock.pass(MINUTE);
    await on.run();
    expect(on.platform.effects).toHaveLength(2);
    expect((await on.store.claims({})).filter(({ status }) => status === 'standing')).toEqual([]);
  });

  it('leaves what is still wrong, and begins nothing', async () => {
    await banned();
    expect((await check()).found.rules).toMatchObject([
      { verdict: 'still', facts: { 'MdmData.CompromisedStatus': 'TRUE' }, hasEnded: false },
    ]);
    report('d2', 'TRUE');
    expect((await check('d2')).found.rules).toMatchObject([{ verdict: 'new', hasEnded: false }]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect((await on.store.openState(on.clock.now)).episodes).toHaveLength(1);
    on.clock.pass(MINUTE);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('waits for `clear_for`, and says until when', async () => {
    await banned('clear_for: 30m');
    report('d1', 'FALSE');
    const { found } = await check();
    expect(found.rules).toMatchObject([{ verdict: 'mended', hasEnded: false, endsAt: on.clock.now + 30 * MINUTE }]);
    on.clock.pass(31 * MINUTE);
    expect((await check()).found.rules).toMatchObject([{ hasEnded: true }]);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('of a last device that is asked about begins nothing, and undoes what was mended although it is the last', async () => {
    const guards = { ask: [], lastDevice: true, perDay: undefined, files: [] };
    on = startOnPlatform({ rules: [{ ...banRule({ more: 'owners: all' }), guards }] });
    const serials = ['S-d1', 'S-d2'];
    on.platform.users.set('ann@x.org', { Email: 'ann@x.org', Name: 'Ann', Groups: 'staff', SerialNumbers: serials });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { Emails: ['ann@x.org'] });
    await on.run();
    for (const id of ['d1', 'd2']) report(id, 'TRUE');
    expect((await on.run()).decisions.map(({ decision, reason }) => `${decision} ${reason}`).sort()).toEqual([
      'act rule_matches',
      'hold last_device',
    ]);
    on.clock.pass(MINUTE);
    expect((await check('d2')).found.rules).toMatchObject([{ verdict: 'still', hasEnded: false }]);
    expect((await check('d1')).found.rules).toMatchObject([{ verdict: 'still', hasEnded: false }]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    on.clock.pass(MINUTE);
    report('d1', 'FALSE');
    expect((await check('d1')).undos).toMatchObject([{ decision: 'act', outcome: 'succeeded' }]);
    // One is free now: what waited is for the next whole run, and not for a check.
    expect((await check('d2')).found.rules).toMatchObject([{ verdict: 'still', hasEnded: false }]);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    on.clock.pass(MINUTE);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d2']);
  });

  it('calls nothing while everything is stopped, and tells so', async () => {
    await banned();
    report('d1', 'FALSE');
    await stopEverything(on.engine, { by: 'ada', reason: 'a test' });
    expect((await check()).undos).toMatchObject([{ decision: 'hold', reason: 'stopped' }]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });

  it('asks the platform once a minute, and answers with what was found', async () => {
    await banned();
    const first = await check();
    const made = recordRequests(on);
    for (let others = 0; others < 25; others += 1) await on.run('dry-run', ['ban']);
    made.length = 0;
    on.clock.pass(MINUTE - 1);
    expect(await check()).toMatchObject({ isRepeat: true, run: first.run, found: { readAt: first.found.readAt } });
    expect(made).toEqual([]);
    on.clock.pass(1);
    expect(await check()).toMatchObject({ isRepeat: false });
  });

  it('does nothing where the device is gone, cannot be read, is not known, or no whole run was made', async () => {
    await banned();
    const gone = on.platform.devices.get('d1');
    on.platform.devices.delete('d1');
    expect(await check()).toMatchObject({ run: undefined, found: { name: undefined, rules: [] } });
    on.platform.devices.set('d1', gone as never);
    await expect(check('nobody')).rejects.toMatchObject({ code: 'not_found' });
    on.engine.api = new Proxy(on.platform, {
      get: (platform, name) =>
        name === 'devicesOfSerial'
          ? () => Promise.reject(new AppError('api_unreachable', 'no answer'))
          : Reflect.get(platform, name, platform),
    });
    await expect(check()).rejects.toMatchObject({ code: 'api_unreachable' });
    on.engine.missedSince = () => 2;
    await expect(check()).rejects.toThrow('nothing can be checked now: 2 scheduled runs were missed');
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });

  it('does and tells nothing for a person who no longer owns the device, also by what was found for another', async () => {
    await banned();
    report('d1', 'FALSE');
    const ask = (owner: string) => checkAgain(on.engine, 'device', 'd1', `person ${owner}`, owner);
    const device = on.platform.devices.get('d1') as Record<string, unknown>;
    device.Emails = ['Bob@example.org'];
    await expect(ask('ann@example.org')).rejects.toThrow('is no longer one of `ann@example.org`: nothing was done');
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(await ask('bob@example.org')).toMatchObject({ found: { owners: ['Bob@example.org'] } });
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    await expect(ask('ann@example.org')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('reads all devices of a serial number: while one is still wrong the ban stays, since it hits them all', async () => {
    on = startOnPlatform({ rules: [banRule()] });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { SerialNumber: 'S-1' });
    for (const id of ['d1', 'd2']) report(id, 'TRUE');
    await on.run();
    on.clock.pass(MINUTE);
    report('d1', 'FALSE');
    const { found } = await check();
    const of = (rules: typeof found.rules) => rules.map(({ subject, verdict }) => [subject.id, verdict]);
    expect(of(found.rules).toSorted()).toEqual([
      ['d1', 'mended'],
      ['d2', 'still'],
    ]);
    expect(on.platform.effects).toEqual(['ban S-1']);
    report('d2', 'FALSE');
    on.clock.pass(MINUTE);
    await check('d2');
    expect(on.platform.effects).toEqual(['ban S-1', 'unban S-1']);
  });

  it('undoes what is mended for who is exempt, too', async () => {
    await banned();
    const about = { subject: { kind: 'device', id: 'd1' }, owner: 'ada', reason: 'a trip', until: '1d' } as const;
    await addExemption(on.engine, about, 'ada');
    expect((await check()).found.rules).toMatchObject([{ verdict: 'still' }]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    report('d1', 'FALSE');
    on.clock.pass(MINUTE);
    expect((await check()).undos).toMatchObject([{ decision: 'act', outcome: 'succeeded' }]);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('undoes no more than a ceiling allows all checks of a whole run together', async () => {
    on = startOnPlatform();
    for (const id of ['d1', 'd2']) on.platform.addDevice(id);
    for (const id of ['d1', 'd2']) report(id, 'TRUE');
    await on.run();
    const ceilings = { run: { max: 1, percent: 0 }, day: { max: 100, percent: 0 } };
    on.engine.settings.decide.ceilings = on.engine.settings.act.ceilings = ceilings;
    for (const id of ['d1', 'd2']) report(id, 'FALSE');
    on.clock.pass(MINUTE);
    expect((await check('d1')).undos).toMatchObject([{ decision: 'act', outcome: 'succeeded' }]);
    expect((await check('d2')).undos).toMatchObject([{ decision: 'hold', reason: 'ceiling' }]);
    expect(on.platform.effects.filter((one) => one.startsWith('unban'))).toEqual(['unban S-d1']);
  });

  it('undoes nothing on a report that is not newer, and says how old it is', async () => {
    await banned();
    const record = on.platform.devices.get('d1')?.MdmData as Record<string, unknown>;
    record.CompromisedStatus = 'FALSE'; // its time stays
    const done = await check();
    expect(done.found.rules).toMatchObject([{ verdict: 'mended', hasEnded: false, reportedAt: expect.any(Number) }]);
    expect(done.undos).toMatchObject([{ decision: 'skip', reason: 'older_report' }]);
    report('d1', 'FALSE');
    on.clock.pass(MINUTE);
    expect((await check()).found.rules).toMatchObject([{ hasEnded: true }]);
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it.each(['dry-run', 'approve'] as const)(
    'undoes nothing by itself in a daemon of mode %s, and tells what it would undo',
    async (mode) => {
      await banned();
      on.engine.daemonMode = mode;
      report('d1', 'FALSE');
      expect((await check()).undos).toMatchObject([{ action: 'unban_device' }]);
      expect(on.platform.effects).toEqual(['ban S-d1']);
    },
  );

  it('is replayed as it was', async () => {
    await banned();
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    await on.run();
    for (const value of ['TRUE', 'FALSE', 'FALSE']) {
      on.clock.pass(MINUTE);
      report('d1', value);
      await check();
    }
    on.clock.pass(MINUTE);
    await on.run();
    await history.settled();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    const was = await asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
    expect(was.differences).toEqual([]);
  });
});
