// scenario: approvals.yaml asks more than one person about a plan: who counts, what waits meanwhile, and that the audit is counted, not a row.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asPerson } from '../../src/domain/actor.ts';
import { approversText } from '../../src/domain/approvals.ts';
import type { Plan, PlanSelection } from '../../src/domain/plan.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { whyOf } from '../../src/engine/explain/why.ts';
import { driftReader } from '../../src/engine/operate/plan-drift.ts';
import { answerPart, applyPlan } from '../../src/engine/operate/plans.ts';
import { missingYes } from '../../src/engine/run/approvers.ts';
import { buildSummary } from '../../src/faces/report/summary/build.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const TWO = 'approvals:\n  - { people: 2, groups: [security], for: { actions: [ban_device] } }\n';
const WHOLE: PlanSelection = { rules: [], only: [], except: [] };
const issuer = 'https://id.example.com';
const person = (name: string, ...groups: string[]) => ({
  by: asPerson({ email: `${name}@example.com`, sub: name, issuer }),
  groups,
});
const ana = person('ana', 'security');
const ben = person('ben', 'security', 'ops');
const eve = person('eve', 'ops');

describe('a plan that two people are asked about', () => {
  let org: Organization;
  let plan: Plan;

  async function open(approvals: string, mode = 'approve'): Promise<void> {
    const ban = BAN_COMPROMISED.replace('mode: enforce', `mode: ${mode}\nlimits: { max: 100, percent: 100 }`);
    org = await startOrganization({ devices: 80, rules: { ban, approvals } });
    for (const serial of ['HELD-1', 'HELD-2']) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    plan = await planOf(await org.run('enforce'));
  }

  async function planOf({ run }: { run: { planId?: string | undefined } }): Promise<Plan> {
    const found = await org.composition.engine.store.plan(run.planId ?? '');
    if (!found) throw new Error('the run planned nothing');
    return found;
  }

  const say = (who: { by: string; groups?: string[] }, id = plan.id, part = WHOLE) =>
    answerPart(org.composition.engine, id, 'approve', part, { ...who, reason: 'looked at it' });
  const apply = (id = plan.id) => applyPlan(org.composition.engine, id, { by: 'ana' });

  beforeEach(() => open(TWO));
  afterEach(() => org.close());

  it('waits after the first yes, is approved with the second, and says who said yes', async () => {
    const first = await say(ana);
    expect(first.plan).toMatchObject({ status: 'pending', agreed: { missing: 'one more yes of security' } });
    await expect(apply()).rejects.toThrow('only an approved or interrupted plan');
    const [drift] = await driftReader(org.composition.engine)(plan.id, ['HELD-1']);
    expect(drift).toMatchObject({ target: 'HELD-1', refused: undefined });
    const { plan: approved } = await say(ben);
    expect([approved.status, approversText(approved)]).toEqual(['approved', 'ana@example.com and ben@example.com']);
    expect((await apply()).plan.status).toBe('applied');
    expect(org.effects('device_banned')).toHaveLength(2);
    const why = await whyOf(org.composition.explaining(), 'HELD-1');
    expect(why.states[0]?.last?.approvedBy).toBe('ana@example.com and ben@example.com');
  });

  it.each([
    ['of another group', eve, 'a yes of eve@example.com does not count here: it waits for one more yes of security'],
    ['of the same person', ana, 'ana@example.com has said yes already'],
    ['of the same address with another id', { ...ana, by: ana.by.replace('(ana', '(ana2') }, 'has said yes already'],
    ['of a token that is no person’s', { by: 'ci' }, '`ci` is no person'],
    ['of the command line', { by: 'ben (command line)' }, 'is no person'],
    ['of somebody who calls themselves a person', { by: 'ben@example.com (ben at id) (page)' }, 'is no person'],
  ])('does not count a second yes %s', async (_, who, why) => {
    await say(ana);
    await expect(say(who)).rejects.toThrow(why);
    expect(await org.composition.engine.store.auditedYes(plan)).toMatchObject({ given: [{ by: ana.by }] });
  });

  it('keeps its content from the first yes on: what joins waits in another plan', async () => {
    await say(ana);
    org.console.fleet.addDevice({ serial: 'HELD-3', mdm_compromised: 'TRUE' });
    const next = await planOf(await org.run('enforce'));
    expect(next.id).not.toBe(plan.id);
    expect(next.intents.map(({ target }) => target)).toEqual(['HELD-3']);
    await say(ben);
    expect((await apply()).intents).toHaveLength(2);
  });

  it('counts each of two who say yes at one moment, or says that it did not', async () => {
    const ended = await Promise.allSettled([say(ana), say(ben)]);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(ended.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { message: expect.stringContaining('meanwhile: say it again') },
    });
    const [last] = [ana, ben].filter((_, at) => ended[at]?.status === 'rejected');
    expect((await say(last as typeof ana)).plan.status).toBe('approved');
  });

  it('is answered whole after a first yes, and a no of one ends it', async () => {
    await say(ana);
    const part = { ...WHOLE, only: ['HELD-1'] };
    await expect(say(ben, plan.id, part)).rejects.toThrow('ana@example.com has said yes to all of plan');
    await answerPart(org.composition.engine, plan.id, 'reject', WHOLE, eve);
    await expect(say(ben)).rejects.toThrow('is rejected');
  });

  it('asks about a part what it asks about the whole', async () => {
    const { plan: first, rest } = await say(ana, plan.id, { ...WHOLE, only: ['HELD-1'] });
    expect([first.status, first.intents.length, rest?.intents.length]).toEqual(['pending', 1, 1]);
    expect((await say(ben, first.id)).plan.status).toBe('approved');
    expect((await apply(first.id)).plan.status).toBe('applied');
    expect(org.effects('device_banned')).toHaveLength(1);
  });

  it('counts the audit: an edited row, and entries that no checkpoint covers, approve nothing', async () => {
    const { store } = org.composition.engine;
    await say(ana);
    const given = [ana, ben].map(({ by, groups }) => ({ at: 0, by, groups }));
    const edited = { ...((await store.plan(plan.id)) as Plan), agreed: { given, missing: '' } };
    await store.changePlan(edited, [], [], 'pending');
    await expect(say(ana)).rejects.toThrow('waits for one more yes of security');
    const body = { plan: plan.id, digest: plan.digest, by: ben.by, groups: ['security'] };
    await store.appendAudit([{ kind: 'plan.agreed', body }]);
    await expect(say(ana)).rejects.toThrow('waits for one more yes of security');
    await store.changePlan({ ...edited, status: 'approved', decidedBy: 'ana', decidedAt: 1 }, [], [], 'pending');
    await expect(apply()).rejects.toThrow('the audit has no entry `plan.approved`');
  });

  it('is done alone by who breaks the glass, for a reason that the audit has', async () => {
    const { engine } = org.composition;
    const { plan: broken } = await answerPart(engine, plan.id, 'approve', WHOLE, { ...eve, reason: 'outbreak' }, true);
    expect(broken.breakGlass).toMatchObject({ by: eve.by, reason: 'outbreak' });
    const deeds = (await buildSummary(engine.store, 0, engine.clock.nowMs() + 1_000)).people.some;
    expect(deeds.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^BROKE THE GLASS: let the plan .* without 2 yeses of security$/),
    );
    expect((await apply()).plan.status).toBe('applied');
    expect(org.effects('device_banned')).toHaveLength(2);
  });

  it('is not applied when the file asks more by then, also not by a call that has begun to wait', async () => {
    await say(ana);
    await say(ben);
    const { engine, rules } = org.composition;
    writeFileSync(join(org.rulesDir, 'approvals.yaml'), TWO.replace('people: 2', 'people: 3'));
    await rules.reload(async () => {});
    await expect(apply()).rejects.toThrow('needs one more yes of security by now');
    const update = engine.store.changePlan.bind(engine.store);
    writeFileSync(join(org.rulesDir, 'approvals.yaml'), TWO);
    await rules.reload(async () => {});
    engine.store.changePlan = async (...given) => {
      await update(...given);
      writeFileSync(join(org.rulesDir, 'approvals.yaml'), TWO.replace('people: 2', 'people: 3'));
      await rules.reload(async () => {});
    };
    const { intents } = await apply();
    expect(intents.map(({ status }) => status)).toEqual(['withdrawn', 'withdrawn']);
    expect(intents[0]?.note).toContain('its plan needs one more yes of security');
    expect(org.effects('device_banned')).toEqual([]);
  });

  it('counts of whoever asked for the run one yes, and never the last that is needed', async () => {
    org.console.fleet.addDevice({ serial: 'HELD-3', mdm_compromised: 'TRUE' });
    const request = { mode: 'enforce', trigger: 'http', rules: undefined, waitForDoubts: false, by: ana.by } as const;
    await runCycle(org.composition.engine, request);
    plan = (await org.composition.engine.store.plan(plan.id)) as Plan;
    writeFileSync(join(org.rulesDir, 'approvals.yaml'), TWO.replace('people: 2', 'people: 1'));
    await org.composition.rules.reload(async () => {});
    const read = { ...WHOLE, digest: plan.digest };
    await expect(say(ana, plan.id, read)).rejects.toThrow('not of ana@example.com, who asked for it');
    expect((await say(ben, plan.id, read)).plan.status).toBe('approved');
  });

  it('counts a token that the file names as the person who holds it, who is one with the same address', async () => {
    const tokens = 'tokens:\n  - { token: ana-laptop, email: Ana@Example.com, groups: [security] }\n';
    writeFileSync(join(org.rulesDir, 'approvals.yaml'), TWO + tokens);
    await org.composition.rules.reload(async () => {});
    expect((await say({ by: 'ana-laptop' })).plan.status).toBe('pending');
    await expect(say(ana)).rejects.toThrow('has said yes already');
    expect((await say(ben)).plan.status).toBe('approved');
  });

  it('asks nobody more about plans that are smaller, or of other severities', async () => {
    for (const about of ['from: 3', 'severities: [low]', 'actions: [delete_device]']) {
      writeFileSync(join(org.rulesDir, 'approvals.yaml'), `approvals: [{ people: 2, for: { ${about} } }]\n`);
      await org.composition.rules.reload(async () => {});
      expect([about, await missingYes(org.composition.engine, plan)]).toEqual([about, undefined]);
    }
    expect((await say({ by: 'ci' })).plan.status).toBe('approved');
  });
});
