// scenario: a fleet of 2,000 devices with 7 compromised ones, over real loopback HTTP and a real SQLite file.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../support/organization.ts';

describe('a fleet of 2,000 devices with 7 compromised ones', () => {
  let org: Organization;
  let serials: string[];
  let ids: string[];

  beforeAll(async () => {
    org = await startOrganization({
      devices: 2_000,
      compromised: 0,
      rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING },
    });
    serials = Array.from({ length: 7 }, (_, index) => `SCENARIO-${index + 1}`);
    ids = serials.map((serial) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }));
  });
  afterAll(() => org.close());

  it('is reported by a dry run, which sends no writing request and names exactly those 7 with their facts', async () => {
    const { run, of } = await org.run('dry-run');
    expect(org.console.writes()).toEqual([]);
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ count: 2_007, trusted: true, form: 'unpaged' });
    const acts = of('act');
    expect(acts.map((item) => item.target).sort()).toEqual(serials);
    expect(acts.map((item) => item.subject.id).sort()).toEqual([...ids].sort());
    for (const item of acts) {
      expect(item).toMatchObject({
        outcome: 'dry_run',
        mode: 'dry-run',
        facts: { 'MdmData.CompromisedStatus': 'TRUE' },
      });
    }
  });

  it('is acted on by an enforcing run, which bans exactly those', async () => {
    const { of } = await org.run('enforce');
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    expect(of('act').map((item) => item.outcome)).toEqual(Array(7).fill('succeeded'));
    expect(org.console.writes()).toHaveLength(7);
  });

  it('is left alone by a second one', async () => {
    const { of } = await org.run('enforce');
    expect(of('act')).toEqual([]);
    expect(of('skip', 'already_so')).toHaveLength(7);
    expect(org.console.writes()).toHaveLength(7);
  });

  it('gets no repeated decision while unchanged', async () => {
    const before = (await org.composition.engine.store.decisions({ limit: 1_000 })).length;
    await org.run('enforce');
    expect((await org.composition.engine.store.decisions({ limit: 1_000 })).length).toBe(before);
  });

  it('has exactly two unbanned when these two recover', async () => {
    for (const id of ids.slice(0, 2)) org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    const { of } = await org.run('enforce');
    expect(
      of('act', 'cleared')
        .map((item) => [item.action, item.target, item.outcome])
        .sort(),
    ).toEqual([
      ['unban_device', serials[0], 'succeeded'],
      ['unban_device', serials[1], 'succeeded'],
    ]);
    expect(org.effects('device_unbanned').sort()).toEqual(ids.slice(0, 2).sort());
    expect((await org.run('enforce')).of('act')).toEqual([]);
  });

  it('keeps a person’s ban, even when its rule no longer matches', async () => {
    const id = org.console.fleet.addDevice({ serial: 'BY-HAND', mdm_compromised: 'TRUE' });
    org.console.fleet.banByHand('BY-HAND', 'TRUE');
    const { decisions } = await org.run('enforce');
    expect(decisions.find((item) => item.subject.id === id)).toMatchObject({ decision: 'skip', reason: 'already_so' });
    org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    expect((await org.run('enforce')).of('act')).toEqual([]);
    expect(org.effects('device_unbanned')).not.toContain(id);
  });

  it('keeps a person’s unban in the same episode, and the next episode bans again', async () => {
    const [serial, id] = [serials[2] as string, ids[2] as string];
    org.console.fleet.banByHand(serial, 'FALSE');
    for (let round = 0; round < 2; round += 1) {
      const { decisions } = await org.run('enforce');
      expect(decisions.find((item) => item.subject.id === id)).toMatchObject({
        decision: 'skip',
        reason: 'overridden',
      });
    }
    expect(org.effects('device_banned').filter((target) => target === id)).toHaveLength(1);
    org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    await org.run('enforce');
    org.console.fleet.patchDevice(id, { mdm_compromised: 'TRUE' });
    await org.run('enforce');
    expect(org.effects('device_banned').filter((target) => target === id)).toHaveLength(2);
  });

  it('has a service with 5 ERROR events in 10 minutes held for approval and named', async () => {
    const serviceId = org.console.fleet.addService('payroll', 'eu-1');
    for (let count = 0; count < 5; count += 1) {
      org.console.fleet.addEvent({
        type: 'Access',
        subType: 'Resource',
        action: 'Unauthorized',
        severity: 'ERROR',
        serviceId,
      });
    }
    const { of, run } = await org.run('enforce');
    expect(of('hold', 'approval_needed')).toHaveLength(1);
    expect(of('hold')[0]).toMatchObject({ action: 'disable_service', target: serviceId, subjectName: 'payroll' });
    expect(Object.values(of('hold')[0]?.facts ?? {})).toContain(5);
    expect(org.effects('service_disabled')).toEqual([]);
    const plan = await org.composition.engine.store.plan(run.planId as string);
    expect(plan?.intents.map((intent) => [intent.action, intent.target, intent.held])).toEqual([
      ['disable_service', serviceId, true],
    ]);
  });

  it('keeps its bans when the rules folder is emptied, and the last good set stays active', async () => {
    await org.rule('service', undefined);
    const refused = await org.rule('ban', undefined);
    expect(refused).toContain('there is no rule');
    const unbanned = org.effects('device_unbanned').length;
    await org.run('enforce');
    expect(org.effects('device_unbanned')).toHaveLength(unbanned);
    await org.rule('ban', BAN_COMPROMISED);
  });

  it('keeps the claims of a missing rule as orphaned: nothing is undone, even when they clear', async () => {
    await org.rule('other', DISABLE_FAILING);
    await org.rule('ban', undefined);
    org.console.fleet.patchDevice(ids[3] as string, { mdm_compromised: 'FALSE' });
    const unbanned = org.effects('device_unbanned').length;
    await org.run('enforce');
    expect(org.effects('device_unbanned')).toHaveLength(unbanned);
    expect(await org.composition.engine.store.claims({ status: 'orphaned' })).toHaveLength(5);
    await org.rule('ban', BAN_COMPROMISED);
    const { of } = await org.run('enforce');
    expect(of('act', 'cleared').map((item) => item.target)).toEqual([serials[3]]);
  });

  it('leaves a whole audit', async () => {
    const verdict = await verifyChain(org.composition.engine.store.auditFrom(1));
    expect(verdict).toMatchObject({ ok: true, bad: undefined });
    expect(verdict.entries).toBeGreaterThan(30);
  });
});
