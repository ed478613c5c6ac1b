// scenario: an operator approves a held plan: exactly it or less is applied, and the decisions then show it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { BAN_COMPROMISED, type Organization, type RunResult, startOrganization } from '../support/organization.ts';

const APPROVE = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve');

let org: Organization;
let ids: string[];
let held: RunResult;

beforeEach(async () => {
  // One after the other: what happens between two calls is seen by the second.
  const env = { TRUSTWARD_ACT_CONCURRENCY: '1' };
  org = await startOrganization({ devices: 80, rules: { ban: APPROVE }, env });
  ids = ['HELD-1', 'HELD-2', 'HELD-3'].map((serial) =>
    org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }),
  );
  held = await org.run('enforce');
});
afterEach(() => org.close());

async function approve(): Promise<Awaited<ReturnType<typeof applyPlan>>> {
  const { engine } = org.composition;
  await answerPlan(engine, held.run.planId as string, 'approve', 'ada', 'looked at each');
  return applyPlan(engine, held.run.planId as string, 'ana');
}

describe('a plan that waits', () => {
  it('holds all three, and nothing was called', () => {
    expect(
      held
        .of('hold', 'approval_needed')
        .map((item) => item.target)
        .sort(),
    ).toEqual(['HELD-1', 'HELD-2', 'HELD-3']);
    expect(org.console.writes()).toEqual([]);
  });

  it('is applied exactly as approved, and its decisions have the outcome', async () => {
    await org.run('dry-run'); // a run in between rewrites nothing that is held
    const { plan, intents, refused } = await approve();
    expect(plan.status).toBe('applied');
    expect(intents.map((intent) => intent.outcome)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(refused).toEqual([]);
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    const decisions = await org.composition.engine.store.decisions({ limit: 10 });
    expect(decisions).toHaveLength(3);
    for (const decision of decisions) expect(decision).toMatchObject({ decision: 'hold', outcome: 'succeeded' });
  });

  it('is recorded with who approved it and who applied it', async () => {
    const { plan } = await approve();
    const bodyOf = async (kind: string) =>
      (await org.composition.engine.store.audit({ kind, limit: 1 })).map(({ bytes }) => JSON.parse(bytes).body)[0];
    expect(await bodyOf('plan.approved')).toMatchObject({ plan: plan.id, by: 'ada', reason: 'looked at each' });
    expect(await bodyOf('plan.applying')).toMatchObject({ plan: plan.id, by: 'ana' });
  });

  it('is not applied to a target whose record drifted: the field is named, and the rest continues', async () => {
    org.console.fleet.patchDevice(ids[1] as string, { mdm_compromised: 'FALSE' });
    const { intents } = await approve();
    expect(org.effects('device_banned').sort()).toEqual([ids[0], ids[2]].sort());
    const drifted = intents.find((intent) => intent.target === 'HELD-2');
    expect(drifted?.status).toBe('withdrawn');
    expect(drifted?.note).toContain('MdmData.CompromisedStatus was "TRUE" and is "FALSE"');
  });

  it('stops at a rule that is set to dry-run while it is applied', async () => {
    const { engine, rules } = org.composition;
    const { api } = engine;
    const update = api.updateDevices.bind(api);
    api.updateDevices = async (serial, devices) => {
      const answer = await update(serial, devices);
      writeFileSync(join(org.rulesDir, 'ban.yaml'), APPROVE.replace('mode: approve', 'mode: dry-run'));
      await rules.reload(async () => {});
      return answer;
    };
    const { intents } = await approve();
    expect(org.console.writes()).toHaveLength(1);
    expect(intents.map((intent) => intent.status).sort()).toEqual(['settled', 'withdrawn', 'withdrawn']);
  });

  it('can be used once', async () => {
    await approve();
    await expect(approve()).rejects.toThrow('is applied: only a pending plan can be approved');
    await expect(applyPlan(org.composition.engine, held.run.planId as string, 'ana')).rejects.toThrow(
      'only an approved or interrupted plan',
    );
    expect(org.console.writes()).toHaveLength(3);
  });

  it('stays while nothing changes, and is superseded when something does', async () => {
    expect((await org.run('enforce')).run.planId).toBe(held.run.planId);
    org.console.fleet.addDevice({ serial: 'HELD-4', mdm_compromised: 'TRUE' });
    const { run } = await org.run('enforce');
    expect(run.planId).not.toBe(held.run.planId);
    await expect(approve()).rejects.toThrow('is superseded');
  });

  it('once rejected, does not return in the same episode', async () => {
    const { engine } = org.composition;
    await answerPlan(engine, held.run.planId as string, 'reject', 'ada', 'known false alarm');
    const { of, run } = await org.run('enforce');
    expect(of('skip', 'rejected')).toHaveLength(3);
    expect(run.planId).toBeUndefined();
    for (const id of ids) org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    await org.run('enforce');
    org.console.fleet.patchDevice(ids[0] as string, { mdm_compromised: 'TRUE' });
    expect((await org.run('enforce')).of('hold', 'approval_needed')).toHaveLength(1);
  });
});
