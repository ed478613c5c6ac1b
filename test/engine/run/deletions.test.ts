// test: deletions of devices: after their approval, after reversible actions, and by facts that the server shows.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

describe('a ban and a deletion of one device', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const ban = banRule({ id: 'ban' });
  const lost = banRule({ id: 'lost', field: 'Other', does: 'delete_device' });
  const LOST = { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } };

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
      expect((await on.store.planRevisions(first?.id ?? '')).map(({ digest }) => digest)).toEqual([first?.digest]);
      on.clock.pass(QUIET_MS);
      expect((await on.run()).plan?.id).toBe(plan?.id);
    });

    it('is deleted after the ban was rejected', async () => {
      start(banRule({ id: 'ban', mode: 'approve' }), lost);
      const { plan } = await on.run();
      expect(plan?.intents.map(({ action }) => action)).toEqual(['ban_device']);
      await answerPlan(on.engine, plan?.id ?? '', 'reject', { by: 'ada', reason: 'not this one' });
      const next = await on.run();
      await on.apply(await on.approve(next.plan));
      expect(on.platform.effects).toEqual(['delete S-d1']);
    });
  });
});

describe('reversible actions go before a deletion, even when the other proposal needs an approval for another reason, belongs to a rule outside the run, or failed; and a deletion waits for nothing that never comes', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const ban = banRule({ id: 'ban' });
  const asked = banRule({ id: 'ban', mode: 'approve' });
  const lost = banRule({ id: 'lost', field: 'Other', does: 'delete_device' });
  const unban = banRule({ id: 'unban', field: 'Other', does: 'unban_device' });

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
      await answerPlan(on.engine, plan?.id ?? '', 'reject', { by: 'ada', reason: 'not this one' });
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
});

describe('facts of a deletion that the server does not show are reported as not known, in dry runs, live ones and explain alike; facts that were known at the approval and no longer are refuse it', () => {
  const ANN = 'ann@example.com';
  const BOB = 'bob@example.com';

  function deleting(): LoadedRule {
    const text = `
id: lost
subject: device
when: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
tests: [{ name: lost, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }]
`;
    const parsed = parseRule(text, 'lost.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  let on: OnPlatform;
  let rule: LoadedRule;
  beforeEach(() => {
    rule = deleting();
    on = startOnPlatform({ rules: [rule] });
  });
  afterEach(() => on.close());

  function lost(id: string, owners: string[] | null): void {
    on.platform.addDevice(id, { Emails: owners, MdmData: { CompromisedStatus: 'TRUE' } });
  }

  function user(email: string, serials: string[]): void {
    on.platform.users.set(email, { Email: email, Name: email, Groups: '', SerialNumbers: serials });
  }

  async function explained(id: string) {
    const { engine } = on;
    const { settings, store } = engine;
    const deps = { ...engine, reader: store, rules: [rule], settings: { ...settings, ...settings.decide } };
    return explainSubject(deps as unknown as ExplainDeps, rule.id, id);
  }

  describe('the deletion of a device', () => {
    it('with unknown owners shows that, and does not depend on them', async () => {
      lost('d1', null);
      const { plan } = await on.run();
      const [planned] = plan?.intents ?? [];
      expect(planned?.effect).toMatchObject({
        deletion: { devices: ['d1'], owners: null, certificates: null, users: null },
        text: expect.stringContaining('owners not known'),
      });
      on.platform.patch('d1', { Emails: [ANN] });
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toEqual(['delete S-d1']);
    });

    it('is described alike in a dry run, a live one and explain', async () => {
      lost('d1', [ANN, BOB]);
      on.platform.addDevice('d2', { Emails: [BOB] });
      user(ANN, ['S-d1']);
      user(BOB, ['S-d1', 'S-d2']);
      const effects = [await on.run('dry-run'), await on.run()].map(({ plan }) => plan?.intents[0]?.effect);
      const deletion = { devices: ['d1'], owners: [ANN, BOB], certificates: 2, users: [ANN] };
      expect(effects).toMatchObject([{ deletion }, { deletion }]);
      const { decisions, recorded } = await explained('d1');
      expect(recorded.decisions.map(({ effect }) => effect)).toEqual([effects[1]]);
      // Who is left without a device takes the whole list.
      expect(decisions).toMatchObject([{ effect: { deletion: { ...deletion, users: null } } }]);
    });

    it('counts with the others of its plan: a user who loses one device by each is left without any', async () => {
      for (const id of ['d1', 'd2']) lost(id, [ANN]);
      user(ANN, ['S-d1', 'S-d2']);
      const { plan } = await on.run();
      expect(plan?.intents.map(({ effect }) => effect.deletion?.users)).toEqual([[ANN], [ANN]]);
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toEqual(['delete S-d1', 'delete S-d2']);
    });

    it('is refused when the users who would be deleted with it are no longer known', async () => {
      lost('d1', [ANN]);
      on.platform.addDevice('d2', { Emails: [ANN] });
      user(ANN, ['S-d1', 'S-d2']);
      const { plan } = await on.run();
      await on.approve(plan);
      on.platform.user = async () => {
        throw new AppError('api_forbidden', 'users are not for this credential');
      };
      const { intents } = await on.apply(plan);
      expect(intents).toMatchObject([
        { status: 'withdrawn', note: expect.stringContaining('the server no longer reports it') },
      ]);
      expect(on.platform.sent).toEqual([]);
    });
  });
});
