// test: a plan past its end is `expired` everywhere from that moment on; the expiry is recorded and audited once.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/domain/plan.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

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
      await expect(answerPlan(on.engine, plan.id, answer, 'ann', undefined)).rejects.toMatchObject({
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
      ['plan_expired', `plan ${plan.id} expired at 2027-01-16 08:00:00 UTC, nobody answered it: nothing of it is done`],
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
