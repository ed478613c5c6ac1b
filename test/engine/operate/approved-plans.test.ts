// test: what no approval lifts, how far a sealed plan's targets drift, and that a plan past its end is expired everywhere.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Plan } from '../../../src/domain/plan.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { driftReader, type ReadDrift } from '../../../src/engine/operate/plan-drift.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { reportText } from '../../support/readable.ts';

describe('what no approval lifts', () => {
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
        ['S-d1', 'withdrawn', 'rule ban has ban_device in force on the same target'],
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
        { status: 'withdrawn', note: `action ${doubt?.id} (ban_device) on the same target is not resolved yet` },
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
});

describe("how far a plan's targets have drifted since it was sealed", () => {
  const HELD = banRule({ mode: 'approve' });

  let on: OnPlatform;
  let driftOf: ReadDrift;
  /** Lets the time of a question pass. */
  let pass: () => void;

  beforeEach(() => {
    on = startOnPlatform({ rules: [HELD] });
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    on.clock.sleep = (_, signal) =>
      new Promise<void>((resolve, reject) => {
        pass = resolve;
        signal?.addEventListener('abort', () => reject(new AppError('stopped', 'stopped')));
      });
    driftOf = driftReader(on.engine);
  });
  afterEach(() => on.close());

  async function plan() {
    const { plan } = await on.run();
    if (!plan) throw new Error('no plan');
    return plan;
  }

  describe('the drift of a plan', () => {
    it('names each record field that changed, with both values, and what applying would answer', async () => {
      const { id, intents } = await plan();
      on.platform.compromised('d1', 'UNSURE');
      const [one, other, ...more] = await driftOf(id, ['S-d2', 'S-d1']);
      expect(more).toEqual([]);
      expect(one).toEqual({
        key: intents[0]?.key,
        action: 'ban_device',
        target: 'S-d1',
        changed: [{ subject: 'd1', field: 'MdmData.CompromisedStatus', then: 'TRUE', now: 'UNSURE' }],
        gone: [],
        refused: {
          check: 'changed-since',
          reason: 'drifted',
          reasonText: 'changed since the plan was made: MdmData.CompromisedStatus was "TRUE" and is "UNSURE"',
        },
        unread: undefined,
      });
      expect(other).toMatchObject({ target: 'S-d2', changed: [], gone: [], refused: undefined, unread: undefined });

      const { intents: applied } = await on.apply(await on.approve(await on.store.plan(id)));
      expect(applied.find(({ target }) => target === 'S-d1')?.note).toBe(one?.refused?.reasonText);
    });

    it('names what else would refuse a target: the rule, the target itself, a stop', async () => {
      const { id } = await plan();
      on.platform.patch('d1', { Banned: 'TRUE' });
      on.platform.devices.delete('d2');
      expect(await driftOf(id, ['S-d1', 'S-d2'])).toMatchObject([
        { refused: { check: 'already-so' } },
        { gone: ['d2'], refused: { check: 'target-gone' } },
      ]);
      on.rules(banRule({ mode: 'approve', field: 'Other' }));
      expect(await driftOf(id, ['S-d3'])).toMatchObject([{ refused: { check: 'rule-changed' } }]);
      await stopEverything(on.engine, { by: 'ana', reason: 'a drill' });
      expect(await driftOf(id, ['S-d3'])).toMatchObject([{ refused: { check: 'stopped' } }]);
    });

    it('names nobody as gone for an action without a call, which reads no record', async () => {
      on.rules(banRule({ mode: 'approve', does: 'notify' }));
      const { id, intents } = await plan();
      expect(intents).toMatchObject([{ action: 'notify' }, { action: 'notify' }, { action: 'notify' }]);
      expect(await driftOf(id, [intents[0]?.target as string])).toMatchObject([{ changed: [], gone: [] }]);
    });

    it('writes nothing and sends nothing', async () => {
      const { id } = await plan();
      const head = await on.store.auditHead();
      const before = [await on.store.plan(id), await on.store.intents({}), await on.store.runs(10)];
      await driftOf(id, ['S-d1', 'S-d2', 'S-d3']);
      expect(await on.store.auditHead()).toEqual(head);
      expect([await on.store.plan(id), await on.store.intents({}), await on.store.runs(10)]).toEqual(before);
      expect(on.platform.sent).toEqual([]);
    });

    it('shows why a target cannot be read, and the others', async () => {
      const { id } = await plan();
      const read = on.platform.devicesOfSerial.bind(on.platform);
      on.platform.devicesOfSerial = async (serial) => {
        if (serial === 'S-d2') throw new AppError('api_unreachable', 'no connection');
        return read(serial);
      };
      expect(await driftOf(id, ['S-d1', 'S-d2'])).toMatchObject([
        { unread: undefined },
        { target: 'S-d2', unread: 'no connection' },
      ]);
    });

    it('names targets that are late, reads no more than eight at once, and begins no read after its time', async () => {
      for (let index = 4; index <= 12; index += 1)
        on.platform.addDevice(`d${index}`, { MdmData: { CompromisedStatus: 'TRUE' } });
      const { id, intents } = await plan();
      const read = on.platform.devicesOfSerial.bind(on.platform);
      const begun: string[] = [];
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const { promise: full, resolve: isFull } = Promise.withResolvers<void>();
      on.platform.devicesOfSerial = async (serial) => {
        begun.push(serial);
        if (begun.length === 8) isFull();
        await held;
        return read(serial);
      };
      const asked = driftOf(
        id,
        intents.map(({ target }) => target),
      );
      await full;
      pass();
      const drifts = await asked;
      expect(drifts).toHaveLength(12);
      expect(new Set(drifts.map(({ unread }) => unread))).toEqual(new Set(['it was not read within 10 s: ask again']));
      release();
      expect(await driftOf(id, ['S-d9'])).toMatchObject([{ unread: undefined }]);
      expect(begun.filter((serial) => serial === 'S-d9')).toHaveLength(1);
      expect(begun).toHaveLength(9);
    });

    it('is refused for targets that the plan does not have, for too many, and without the plan', async () => {
      const { id } = await plan();
      await expect(driftOf(id, ['S-none'])).rejects.toMatchObject({
        code: 'usage',
        message: `plan ${id} has no target \`S-none\``,
      });
      await expect(
        driftOf(
          id,
          Array.from({ length: 26 }, () => 'S-d1'),
        ),
      ).rejects.toMatchObject({ code: 'usage' });
      await expect(driftOf('none', [])).rejects.toMatchObject({ code: 'not_found' });
    });
  });
});

describe('a plan past its end is `expired` everywhere from that moment on; the expiry is recorded and audited once', () => {
  const DAY_MS = 86_400_000;

  let on: OnPlatform;
  let plan: Plan;

  beforeEach(async () => {
    on = startOnPlatform({ rules: [banRule({ mode: 'approve' })] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    plan = (await on.run()).plan as Plan;
  });
  afterEach(() => on.close());

  const statusOf = async (status: Plan['status']) => (await on.store.plans({ status }, 10)).map(({ id }) => id);
  const audited = async () =>
    (await on.store.audit({ kind: 'plan.expired', limit: 10 })).map(({ bytes }) => JSON.parse(bytes).body);

  describe('a plan that nobody answered', () => {
    it('waits until its last moment, and is no longer listed as pending from then on, although nothing was written', async () => {
      on.clock.pass(DAY_MS - 1);
      expect([await statusOf('pending'), await statusOf('expired')]).toEqual([[plan.id], []]);
      on.clock.pass(1);
      expect([await statusOf('pending'), await statusOf('expired')]).toEqual([[], [plan.id]]);
      expect((await on.store.plan(plan.id))?.status).toBe('expired');
      expect((await on.store.plans({}, 10)).map(({ status }) => status)).toEqual(['expired']);
      expect(await audited()).toEqual([]);
    });

    it('is expired in the report of its run, which offers no command to approve it', async () => {
      on.clock.pass(DAY_MS);
      const report = await buildReport(on.store, (await on.store.latestRun()) as never);
      expect(report.plan.status).toBe('expired');
      const text = reportText(report, { width: 200 });
      expect(text).toContain(`Plan ${plan.id} expired at 2027-01-16 08:00:00 UTC: the next run makes a new one.`);
      expect(text).not.toContain('trustward approve');
    });

    it('is refused by name and time, and audited once, however often it is requested', async () => {
      on.clock.pass(DAY_MS);
      for (const answer of ['approve', 'approve', 'reject'] as const) {
        await expect(answerPlan(on.engine, plan.id, answer, { by: 'ann' })).rejects.toMatchObject({
          code: 'conflict',
          message: `plan ${plan.id} expired at 2027-01-16 08:00:00 UTC (1d after it was made): the next run makes a new one`,
        });
      }
      await on.run();
      expect(await audited()).toEqual([{ plan: plan.id, was: 'pending', expiresAt: plan.expiresAt }]);
    });

    it('is followed by a new one in the next run, and is expired rather than superseded', async () => {
      on.clock.pass(DAY_MS);
      const { plan: next } = await on.run();
      expect(next).toMatchObject({ digest: plan.digest, status: 'pending' });
      expect(next?.id).not.toBe(plan.id);
      expect(await statusOf('expired')).toEqual([plan.id]);
      expect(await on.store.audit({ kind: 'plan.superseded', limit: 10 })).toEqual([]);
      expect(await audited()).toHaveLength(1);
    });

    it('stays expired when the clock is set back after the expiry was recorded', async () => {
      on.clock.pass(DAY_MS);
      await on.run();
      on.clock.pass(-DAY_MS);
      expect(await statusOf('expired')).toEqual([plan.id]);
      await expect(on.approve(plan)).rejects.toMatchObject({ message: expect.stringContaining('expired at') });
    });

    it('is alerted as waiting, and then, once, as expired', async () => {
      const alerts = alertsOf(on);
      const told = async () => (await alerts.look()).map(({ code, text }) => [code, text]);
      expect(await told()).toEqual([['plan_waits', expect.stringContaining(plan.id)]]);
      on.clock.pass(DAY_MS);
      expect(await told()).toEqual([
        [
          'plan_expired',
          `plan ${plan.id} expired at 2027-01-16 08:00:00 UTC, nobody answered it: nothing of it is done`,
        ],
      ]);
      expect(await told()).toEqual([]);
      on.clock.pass(2 * DAY_MS);
      expect(await told()).toEqual([]);
    });
  });

  describe('a plan that was approved and not applied in its time', () => {
    it('expires too, and is alerted as approved and not applied', async () => {
      await on.approve(plan);
      on.clock.pass(DAY_MS);
      expect([await statusOf('approved'), await statusOf('expired')]).toEqual([[], [plan.id]]);
      await expect(on.apply(plan)).rejects.toMatchObject({ message: expect.stringContaining('expired at') });
      expect(await audited()).toEqual([{ plan: plan.id, was: 'approved', expiresAt: plan.expiresAt }]);
      const alerts = alertsOf(on);
      expect((await alerts.look()).map(({ text }) => text)).toEqual([
        expect.stringContaining('a person approved it and it was not applied'),
      ]);
    });

    it('stays applied forever when it was applied in time', async () => {
      await on.apply(await on.approve(plan));
      on.clock.pass(2 * DAY_MS);
      expect((await on.store.plan(plan.id))?.status).toBe('applied');
      await on.run();
      expect(await audited()).toEqual([]);
    });
  });
});
