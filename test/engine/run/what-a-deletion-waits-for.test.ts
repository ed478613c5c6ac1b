// test: reversible actions go before a deletion, even when the other proposal needs an approval for another reason,
// belongs to a rule outside the run, or failed; and a deletion waits for nothing that never comes.
import { afterEach, describe, expect, it } from 'vitest';
import { explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const ban = banRule({ id: 'ban' });
const asked = banRule({ id: 'ban', mode: 'approve' });
const lost = banRule({ id: 'lost', field: 'Other', does: 'delete_device' });
const unban = banRule({ id: 'unban', field: 'Other', does: 'unban_device' });
const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

function start(...rules: LoadedRule[]): void {
  on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { ...BOTH, Emails: [] });
}

const said = ({ decisions }: Round) => decisions.map(({ rule, reason }) => `${rule}: ${reason}`).sort();
const planned = ({ plan }: Round) => plan?.intents.map(({ action }) => action) ?? [];

/** The list shows a match, the single record does not: the attempt is withdrawn in preflight. */
function singleRecordLacks(field: 'CompromisedStatus'): void {
  const own = on.platform.devicesOfSerial.bind(on.platform);
  on.platform.devicesOfSerial = async (serial) =>
    (await own(serial)).map((device) => {
      const { [field]: _, ...MdmData } = device.MdmData as Record<string, string>;
      return { ...device, MdmData };
    });
}

async function explained(rules: LoadedRule[], rule: string) {
  const { api, clock, ids, actions, quiet, settings } = on.engine;
  const own = { isWhatIf: false, daemonMode: 'enforce' } as const;
  const deps = { api, reader: on.store, clock, ids, actions, quiet, rules, settings, ...own };
  return (await explainSubject(deps, rule, 'S-d1')).decisions;
}

describe('two devices of one serial number that differ', () => {
  function shared(...rules: LoadedRule[]): void {
    on = startOnPlatform({ rules });
    on.platform.addDevice('d1', { SerialNumber: 'SER-12', Platform: 'macOS', ...BOTH, Emails: [] });
    on.platform.addDevice('d2', { SerialNumber: 'SER-12', Platform: 'windows', Banned: 'TRUE', Emails: [] });
  }

  it.each(['ban', 'zban'])('are not banned and deleted by one approval (rule %s)', async (id) => {
    shared(banRule({ id }), lost);
    const first = await on.run();
    expect(said(first)).toEqual([`${id}: serial_shared`, 'lost: other_first'].sort());
    expect(planned(first)).toEqual(['ban_device']);
    await on.apply(await on.approve(first.plan));
    expect(on.platform.sent).toEqual(['ban SER-12']);
    on.clock.pass(QUIET_MS);
    expect(planned(await on.run())).toEqual(['delete_device']);
  });

  it('are not banned and unbanned by one approval', async () => {
    shared(ban, unban);
    const first = await on.run();
    expect([said(first), planned(first)]).toEqual([['ban: conflict', 'unban: conflict'], []]);
  });
});

describe('a run over one rule', () => {
  it.each(['enforce', 'dry-run'] as const)('of mode %s gets no deletion past the ban that waits', async (mode) => {
    start(asked, lost);
    await on.run(mode);
    const alone = await on.run(mode, ['lost']);
    expect(alone.decisions.find(({ rule }) => rule === 'lost')).toMatchObject({
      reason: 'other_first',
      reasonText: 'rule ban wants ban_device for the same target first',
    });
    expect(planned(alone)).toEqual([]);
  });

  it('does not let an approved deletion pass a ban proposed after it', async () => {
    start(asked, lost);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
    const plan = await on.approve((await on.run()).plan);
    on.platform.patch('d1', BOTH);
    await on.run('enforce', ['ban']);
    expect((await on.apply(plan)).refused).toMatchObject([
      { reason: 'rule ban wants ban_device for the same target first' },
    ]);
    expect(on.platform.sent).toEqual([]);
  });

  it('asks for the deletion when the ban was rejected or is done', async () => {
    start(asked, lost);
    const { plan } = await on.run();
    await answerPlan(on.engine, plan?.id ?? '', 'reject', 'ada', 'not this one');
    expect(planned(await on.run('enforce', ['lost']))).toEqual(['delete_device']);
    await on.close();
    start(ban, lost);
    await on.run();
    on.clock.pass(QUIET_MS);
    expect(planned(await on.run('enforce', ['lost']))).toEqual(['delete_device']);
  });

  it('asks for the deletion when the rule that proposed the ban is missing', async () => {
    start(asked, lost);
    await on.run();
    on.rules(lost);
    expect(planned(await on.run('enforce', ['lost']))).toEqual(['delete_device']);
  });

  it.each(['ban', 'unban'])('lifts no conflict with the one that it leaves out (over %s)', async (id) => {
    start(ban, unban);
    on.platform.patch('d1', { ...BOTH, Banned: id === 'ban' ? 'FALSE' : 'TRUE' });
    await on.run();
    const alone = await on.run('enforce', [id]);
    expect(alone.decisions.find(({ rule }) => rule === id)).toMatchObject({ decision: 'hold', reason: 'conflict' });
    expect(on.platform.sent).toEqual([]);
  });

  it('bans what another rule only tries to unban', async () => {
    start(ban, banRule({ id: 'unban', field: 'Other', does: 'unban_device', mode: 'dry-run' }));
    on.platform.patch('d1', { MdmData: { Other: 'TRUE' }, Banned: 'TRUE' });
    await on.run();
    on.platform.patch('d1', { ...BOTH, Banned: 'FALSE' });
    await on.run('enforce', ['ban']);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });
});

describe('a proposal refused in preflight', () => {
  it('keeps no deletion waiting forever, and is still tried', async () => {
    start(ban, lost);
    singleRecordLacks('CompromisedStatus');
    const first = await on.run();
    expect([said(first), planned(first)]).toEqual([['ban: drifted', 'lost: other_first'], []]);
    for (let round = 0; round < 3; round += 1) {
      on.clock.pass(QUIET_MS);
      const next = await on.run();
      expect([said(next), planned(next)]).toEqual([['ban: drifted', 'lost: approval_needed'], ['delete_device']]);
      expect((await explained([ban, lost], 'lost')).map(({ reason }) => reason)).toEqual(['approval_needed']);
    }
    expect(on.platform.sent).toEqual([]);
  });

  it('keeps a deletion waiting where its approval is pending', async () => {
    start(asked, lost);
    singleRecordLacks('CompromisedStatus');
    await on.apply(await on.approve((await on.run()).plan));
    const next = await on.run();
    expect([said(next), planned(next)]).toEqual([['ban: approval_needed', 'lost: other_first'], ['ban_device']]);
  });

  it('keeps a deletion waiting again once its rule has changed', async () => {
    start(ban, lost);
    singleRecordLacks('CompromisedStatus');
    await on.run();
    on.rules(banRule({ id: 'ban', more: 'owners: all' }), lost);
    on.clock.pass(QUIET_MS);
    expect(said(await on.run())).toContain('lost: other_first');
  });

  it('does not leave an equal proposal to an undo that never comes', async () => {
    start(ban);
    await on.run();
    on.clock.pass(QUIET_MS);
    on.rules(ban, unban);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
    singleRecordLacks('CompromisedStatus');
    expect(said(await on.run())).toEqual(['ban: drifted', 'unban: cleared']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
    on.clock.pass(QUIET_MS);
    expect(said(await on.run())).toEqual(['unban: already_so']);
    expect((await on.store.claims({ status: 'standing' })).map(({ rule }) => rule)).toEqual([]);
  });
});
