// scenario: `owners` of guards.yaml: whose yes the rules of a folder need, for a plan, an exemption, a release and the answer to a request.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asPerson } from '../../src/domain/actor.ts';
import type { Plan, PlanSelection } from '../../src/domain/plan.ts';
import { exempt } from '../../src/engine/operate/exempt.ts';
import { askExemption, grantRequest, refuseRequest } from '../../src/engine/operate/exemption-requests.ts';
import { answerPart, applyPlan } from '../../src/engine/operate/plans.ts';
import { planRelease, releaseClaims } from '../../src/engine/operate/release.ts';
import { done, shown } from '../../src/runtime/operations/acting.ts';
import { performerOf, readingOf } from '../../src/runtime/operations/performer.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const issuer = 'https://id.example.com';
const person = (name: string, ...groups: string[]) => ({
  by: asPerson({ email: `${name}@example.com`, sub: name, issuer }),
  groups,
});
const ana = person('ana', 'endpoint-team');
const ben = person('ben', 'cloud-team');
const cleo = person('cleo', 'endpoint-team', 'cloud-team');
const WHOLE: PlanSelection = { rules: [], only: [], except: [] };
const OWNERS = `owners:
  - { folder: fleet, groups: [fleet-team] }
  - { folder: fleet/laptops, groups: [endpoint-team] }
  - { folder: cloud, groups: [cloud-team] }
`;
const ban = (id: string, serial: string) =>
  `id: ${id}\nsubject: device\nwhen: { in: [${serial}, { var: SerialNumber }] }\nthen: ban_device\nmode: approve\nlimits: { max: 100, percent: 100 }\n`;

describe('rules whose folder belongs to a group', () => {
  let org: Organization;
  let plan: Plan;

  const put = (file: string, text: string) => writeFileSync(join(org.rulesDir, file), text);
  const reload = () => org.composition.rules.reload(async () => {});
  const engine = () => org.composition.engine;
  const say = (who: { by: string; groups?: string[] }, part = WHOLE, glass = false) =>
    answerPart(engine(), plan.id, 'approve', part, { ...who, reason: 'looked at it' }, glass);
  const only = (rule: string) => ({ ...WHOLE, rules: [rule] });

  beforeEach(async () => {
    org = await startOrganization({ devices: 80, rules: { other: BAN_COMPROMISED.replace('enforce', 'off') } });
    for (const folder of ['fleet/laptops', 'cloud']) mkdirSync(join(org.rulesDir, folder), { recursive: true });
    put('fleet/laptops/own.yaml', ban('laptops', 'LAP'));
    put('cloud/own.yaml', ban('servers', 'SRV'));
    put('free.yaml', ban('free', 'FREE'));
    put('fleet/rest.yaml', ban('rest', 'NOTHING'));
    put('guards.yaml', OWNERS);
    expect(await reload()).toBe(undefined);
    for (const serial of ['LAP-1', 'SRV-1', 'FREE-1']) org.console.fleet.addDevice({ serial }, ['pat@example.com']);
    const { run } = await org.run('enforce');
    plan = (await engine().store.plan(run.planId ?? '')) as Plan;
  });
  afterEach(() => org.close());

  it('are approved by one of it alone, by the nearest folder; others are told which, whose, and what is theirs', async () => {
    await expect(say(ben)).rejects.toThrow(
      `plan ${plan.id} is not approved: rule \`laptops\` is of the folder \`fleet/laptops\`, which belongs to endpoint-team, and ben@example.com is none of them: ask one of them, or approve the part that is yours: --rule free --rule servers`,
    );
    await expect(say(person('dan', 'fleet-team'), only('laptops'))).rejects.toThrow('belongs to endpoint-team');
    const { plan: part } = await say(ben, { ...WHOLE, rules: ['free', 'servers'] });
    expect([part.status, part.agreed?.given.map(({ groups }) => groups)]).toEqual(['approved', [['cloud-team']]]);
    expect((await applyPlan(engine(), part.id, { by: 'the daemon' })).plan.status).toBe('applied');
    expect((await say(ana)).plan.status).toBe('approved');
    await applyPlan(engine(), plan.id, { by: 'the daemon' });
    expect(org.effects('device_banned')).toHaveLength(3);
  });

  it.each([
    ['a token that is no person’s', { by: 'ci' }],
    ['the command line', { by: 'ana (command line)' }],
    ['a person of no group', person('eve')],
  ])('are closed to %s, and open to whoever breaks the glass', async (_, who) => {
    await expect(say(who, only('laptops'))).rejects.toThrow('belongs to endpoint-team');
    expect((await say(who, only('free'))).plan.status).toBe('approved');
    expect((await say(who, only('laptops'), true)).plan).toMatchObject({ status: 'approved', breakGlass: {} });
  });

  it('count the token that `approvals.yaml` names, and each of the people that it asks has to be an owner', async () => {
    put('approvals.yaml', 'tokens: [{ token: ana-laptop, email: ana@example.com, groups: [endpoint-team] }]\n');
    expect(await reload()).toBe(undefined);
    expect((await say({ by: 'ana-laptop' }, only('laptops'))).plan.status).toBe('approved');
    put('approvals.yaml', 'approvals: [{ people: 2 }]\n');
    await reload();
    await expect(say(person('dan', 'security'), only('servers'))).rejects.toThrow('belongs to cloud-team');
    expect((await say(ben, only('servers'))).plan).toMatchObject({
      status: 'pending',
      agreed: { missing: 'one more yes' },
    });
  });

  it('are asked about as the files are when it is applied: a rule that moved, and an owner who is none any longer', async () => {
    const { plan: part } = await say(ana, only('laptops'));
    renameSync(join(org.rulesDir, 'fleet/laptops/own.yaml'), join(org.rulesDir, 'cloud/moved.yaml'));
    put('guards.yaml', OWNERS.replace(/.*laptops.*\n/, ''));
    expect(await reload()).toBe(undefined);
    const late = applyPlan(engine(), part.id, { by: 'the daemon' });
    await expect(late).rejects.toThrow('needs one yes of cloud-team (owners of `cloud`) by now');
    expect(org.effects('device_banned')).toEqual([]);
  });

  it('do not act when they move while the plan is applied, nor by an edited row', async () => {
    const { plan: part } = await say(ana, only('laptops'));
    const { store } = engine();
    const update = store.changePlan.bind(store);
    store.changePlan = async (...given) => {
      await update(...given);
      put('guards.yaml', OWNERS.replace('[endpoint-team]', '[cloud-team]'));
      await reload();
    };
    const { intents } = await applyPlan(engine(), part.id, { by: 'the daemon' });
    expect(intents.map(({ note }) => note)).toEqual([expect.stringContaining('needs one yes of cloud-team')]);
    store.changePlan = update;
    const { plan: free } = await say(ben, only('servers'));
    put('guards.yaml', OWNERS.replace('cloud-team', 'endpoint-team'));
    await reload();
    const given = [{ at: 0, by: ana.by, groups: ana.groups }];
    await store.changePlan({ ...free, agreed: { given } }, [], [], 'approved');
    await expect(applyPlan(engine(), free.id, { by: 'the daemon' })).rejects.toThrow('one yes of endpoint-team');
  });

  it('know the groups of a person also where what they ask for has its turn', async () => {
    const asked: unknown[] = [];
    const turns = { operate: async (id: string, _: unknown, asking: object) => void asked.push([id, asking]) };
    const performer = performerOf({ turns } as never);
    await performer.perform('applyPlan', { id: plan.id, breakGlass: false } as never, ana);
    expect(asked).toEqual([['applyPlan', ana]]);
  });

  it('wait for the owners of both where two rules ask for one action', async () => {
    put('cloud/also.yaml', ban('also', 'LAP'));
    expect(await reload()).toBe(undefined);
    org.console.fleet.addDevice({ serial: 'LAP-2' });
    await org.run('enforce');
    plan = (await engine().store.plans({ status: 'pending' }, 1))[0] as Plan;
    const part = { ...WHOLE, only: ['LAP-2'], digest: plan.digest };
    const { plan: first } = await say(ana, part);
    expect(first).toMatchObject({
      status: 'pending',
      agreed: { missing: expect.stringContaining('yes of cloud-team') },
    });
    plan = first;
    expect((await say(ben)).plan.status).toBe('approved');
  });

  it('have a rollout that goes on, or begins anew, for their owners alone', async () => {
    put(
      'cloud/own.yaml',
      ban('servers', 'SRV').replace('mode: approve', 'mode: enforce\nrollout: { steps: [10%, 100%], each: 24h }'),
    );
    expect(await reload()).toBe(undefined);
    const steer = (id: 'resumeRollout' | 'restartRollout', who: { by: string; groups?: string[] }) =>
      done({ engine: engine(), appliesAtOnce: false }, id, { id: 'servers', reason: 'seen' }, who);
    for (const id of ['resumeRollout', 'restartRollout'] as const)
      await expect(steer(id, ana)).rejects.toThrow(
        'the rollout of rule `servers` stays as it is: rule `servers` is of the folder `cloud`',
      );
    await expect(steer('resumeRollout', ben)).rejects.toThrow('is not stopped');
    expect(await steer('restartRollout', ben)).toMatchObject({ rule: { id: 'servers' }, state: undefined });
  });

  it('are released, and exempted from, by their owners; an exemption needs one of the owners of every folder', async () => {
    await applyPlan(engine(), (await say(cleo)).plan.id, { by: 'the daemon' });
    const no = 'nothing of `LAP-1` is released: rule `laptops` is of the folder `fleet/laptops`';
    await expect(releaseClaims(engine(), 'LAP-1', { ...ben, reason: 'no' })).rejects.toThrow(no);
    await expect(planRelease(engine(), 'laptops', { ...ben, reason: 'no' })).rejects.toThrow(
      'belongs to endpoint-team',
    );
    const about = { subject: { kind: 'device', id: 'LAP-1' }, owner: 'x', reason: 'x', until: '1d' };
    const every = [...cleo.groups, 'fleet-team'];
    for (const { by, groups } of [ana, { by: 'ana (command line)', groups: undefined }])
      await expect(exempt(engine(), about, by, groups)).rejects.toThrow('an exemption is from all rules: rule `');
    expect(await engine().store.exemptions()).toEqual([]);
    const { released } = await exempt(engine(), { ...about, release: true }, cleo.by, every);
    expect(released).toMatchObject([{ target: 'LAP-1', state: 'released' }]);
    await expect(releaseClaims(engine(), 'SRV-1', { ...ben, reason: 'done' })).resolves.toHaveLength(1);
    await expect(releaseClaims(engine(), 'FREE-1', { by: 'ci', reason: 'done' })).resolves.toHaveLength(1);
  });

  it('release what both claim by a plan, which waits for a yes of each: nobody has to be in both groups', async () => {
    put('cloud/also.yaml', ban('also', 'LAP'));
    expect(await reload()).toBe(undefined);
    org.console.fleet.addDevice({ serial: 'LAP-2' });
    await org.run('enforce');
    plan = (await engine().store.plans({ status: 'pending' }, 1))[0] as Plan;
    const { plan: read } = await say(cleo, { ...WHOLE, digest: plan.digest });
    await applyPlan(engine(), read.id, { by: 'the daemon' });
    const release = async (who: { by: string; groups?: string[] }) => {
      const input = { target: 'LAP-2', reason: 'mended', rule: undefined };
      const acting = { engine: engine(), appliesAtOnce: false };
      return shown(readingOf(org.composition), 'releaseClaims', await done(acting, 'releaseClaims', input, who));
    };
    await expect(release(person('eve', 'fleet-team'))).rejects.toThrow('nothing of `LAP-2` is released');
    const planned = await release(ana);
    expect(planned).toMatchObject({
      plan: { status: 'pending', releases: 'also and laptops', needs: expect.stringContaining('yes of cloud-team') },
    });
    expect(await release(ben)).toMatchObject({ plan: { id: 'plan' in planned && planned.plan.id } });
    plan = (await engine().store.plan('plan' in planned ? planned.plan.id : '')) as Plan;
    for (const who of [ana, ben]) plan = (await say(who)).plan;
    await applyPlan(engine(), plan.id, { by: 'the daemon' });
    expect(org.effects('device_unbanned')).toHaveLength(1);
    expect(await engine().store.openClaimsOn('LAP-2')).toEqual([]);
  });

  it('are answered for, where a person asks for an exemption, by their owners', async () => {
    const device =
      (await engine().store.decisions({ limit: 100 })).find(({ rule }) => rule === 'laptops')?.subject.id ?? '';
    const person = 'pat@example.com';
    const asked = await askExemption(engine(), { person, device, reason: 'exam', forMs: 86_400_000 });
    expect(asked.rule).toBe('laptops');
    const answer = { say: 'no' };
    await expect(refuseRequest(engine(), asked.id, answer, ben.by, ben.groups)).rejects.toThrow(
      'is not answered: rule',
    );
    await expect(grantRequest(engine(), asked.id, answer, ana.by, ana.groups)).rejects.toThrow('is from all rules');
    expect(await refuseRequest(engine(), asked.id, answer, ana.by, ana.groups)).toMatchObject({ status: 'refused' });
  });
});
