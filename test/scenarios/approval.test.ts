// scenario: an operator approves a held plan: exactly it or less is applied; the actions against the real console; and the words of an applied plan.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { episodesOf, type Plan } from '../../src/domain/plan.ts';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { views } from '../../src/faces/report/index.ts';
import { ManagementClient } from '../../src/platform/client.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemRandom } from '../../src/runtime/system/ids.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, type RunResult, startOrganization } from '../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../support/receiver.ts';

describe('an operator approves a held plan', () => {
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
    await answerPlan(engine, held.run.planId as string, 'approve', { by: 'ada', reason: 'looked at each' });
    return applyPlan(engine, held.run.planId as string, { by: 'ana' });
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
      await expect(applyPlan(org.composition.engine, held.run.planId as string, { by: 'ana' })).rejects.toThrow(
        'only an approved or interrupted plan',
      );
      expect(org.console.writes()).toHaveLength(3);
    });

    it('stays when something joins it, which only an approval of what was read then covers', async () => {
      expect((await org.run('enforce')).run.planId).toBe(held.run.planId);
      org.console.fleet.addDevice({ serial: 'HELD-4', mdm_compromised: 'TRUE' });
      const { run } = await org.run('enforce');
      expect(run.planId).toBe(held.run.planId);
      await expect(approve()).rejects.toThrow('has changed since it was made (1 joined): read it, and give the digest');
      expect(org.console.writes()).toHaveLength(0);
    });

    it('once rejected, does not return in the same episode', async () => {
      const { engine } = org.composition;
      await answerPlan(engine, held.run.planId as string, 'reject', { by: 'ada', reason: 'known false alarm' });
      const { of, run } = await org.run('enforce');
      expect(of('skip', 'rejected')).toHaveLength(3);
      expect(run.planId).toBeUndefined();
      for (const id of ids) org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
      await org.run('enforce');
      org.console.fleet.patchDevice(ids[0] as string, { mdm_compromised: 'TRUE' });
      expect((await org.run('enforce')).of('hold', 'approval_needed')).toHaveLength(1);
    });
  });
});

describe('the further actions against the real console over HTTP, and notifications to a real receiver over https', () => {
  function rule(id: string, then: string, more = 'mode: enforce'): string {
    return `
id: ${id}
subject: service
when: { "==": [{ var: Description }, "${id}"] }
then: ${then}
${more}
revert: true
limits: { max: 10, percent: 100 }
tests:
  - { name: so, given: { Description: ${id} }, expect: match }
`;
  }

  let org: Organization;
  let client: ManagementClient;

  async function start(rules: Record<string, string>, env: Record<string, string> = {}): Promise<void> {
    org = await startOrganization({ devices: 40, rules, env });
    const credential = { kind: 'api_key' as const, secret: org.env.TRUSTWARD_API_KEY ?? '' };
    const address = org.console.address;
    client = new ManagementClient({ address, credential, clock: systemClock, random: systemRandom });
  }
  afterEach(async () => {
    await client.close();
    await org.close();
  });

  async function addService(description: string): Promise<string> {
    const written = await client.insertService({
      metadata: { name: `svc-${description}`, cluster: 'east', description },
      spec: {
        backend: { target: { name: 'db', port: '80' } },
        http_settings: { enabled: true, oidc_settings: { enabled: true, service_domain_name: 'https://x.example' } },
      },
    });
    return String(written.value?.ServiceID);
  }

  async function approveAndApply(planId: string | undefined) {
    const { engine } = org.composition;
    await answerPlan(engine, planId as string, 'approve', { by: 'ada', reason: 'looked at it' });
    return applyPlan(engine, planId as string, { by: 'ana' });
  }

  describe('a service that is to be deleted', () => {
    it('waits for an approval, is refused while enabled, and is deleted after it was disabled', async () => {
      await start({ retired: rule('retired', 'delete_service') });
      const id = await addService('retired');
      const first = await org.run('enforce');
      expect(first.of('hold', 'approval_needed').map(({ target }) => target)).toEqual([id]);
      const refused = await approveAndApply(first.run.planId);
      expect(refused.intents).toMatchObject([
        { status: 'withdrawn', note: expect.stringContaining('disable it first') },
      ]);
      await client.disableService(id);
      const second = await org.run('enforce');
      const { intents } = await approveAndApply(second.run.planId);
      expect(intents).toMatchObject([{ outcome: 'succeeded' }]);
      expect(await client.service(id)).toBeUndefined();
      const deleted = org.console.effects().filter(({ kind }) => kind === 'service_deleted');
      expect(deleted.map(({ target }) => target)).toEqual([id]);
    });
  });

  describe('a service that is to be changed', () => {
    it('is written once, whole, with the patch, and no other service is made', async () => {
      const patch = '{ spec: { backend: { target: { port: "8443", tls: true } } } }';
      await start({ insecure: rule('insecure', `{ action: update_service, with: { patch: ${patch} } }`) });
      const id = await addService('insecure');
      const before = (await client.listServices()).length;
      const { run, of } = await org.run('enforce');
      expect(of('hold')[0]?.effect.text).toContain('set `spec.backend.target.port` from "80" to "8443"');
      const { intents } = await approveAndApply(run.planId);
      expect(intents).toMatchObject([{ outcome: 'succeeded', note: expect.stringContaining('version 2') }]);
      const record = await client.service(id);
      expect(JSON.parse(record?.ServiceSpec as string).spec).toEqual({
        backend: { target: { name: 'db', port: '8443', tls: true } },
        http_settings: { enabled: true, oidc_settings: { enabled: true, service_domain_name: 'https://x.example' } },
      });
      expect(await client.listServices()).toHaveLength(before);
      expect((await org.run('enforce')).of('skip', 'already_acted')).toHaveLength(1);
    });
  });

  describe('a service that belongs to a bundle while a rule matches', () => {
    it('is added, and removed when the rule no longer matches', async () => {
      await start({ idle: rule('idle', 'disable_service') });
      const bundle = await client.createBundle({ bundle_name: 'quarantine', service_ids: [] });
      const id = String(bundle.value?.id);
      await org.rule('noisy', rule('noisy', `{ action: add_to_bundle, with: { bundle: "${id}" } }`));
      const service = await addService('noisy');
      await org.run('enforce');
      expect((await client.listBundles())?.find((each) => each.id === id)?.service_ids).toEqual([service]);
      await client.insertService({ metadata: { name: 'svc-noisy', cluster: 'east', description: 'calm' } });
      await org.run('enforce');
      expect((await client.listBundles())?.find((each) => each.id === id)?.service_ids).toEqual([]);
    });
  });

  describe('notifications', () => {
    let receiver: Receiver;
    let dir: string;
    let env: Record<string, string>;
    const TELL = `
id: tell
title: Tell
subject: device
when: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }
then: { action: notify, with: { to: ops } }
mode: enforce
limits: { max: 100, percent: 100 }
tests: [{ name: so, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }]
`;
    beforeEach(async () => {
      receiver = await startReceiver();
      dir = mkdtempSync(join(tmpdir(), 'trustward-'));
      const file = join(dir, 'webhooks.json');
      writeFileSync(join(dir, 'ca.pem'), CERTIFICATE);
      const url = `https://localhost:${receiver.port}/hook`;
      const ops = { url, secretEnv: 'OPS_SECRET', allowPrivate: true, caFile: join(dir, 'ca.pem') };
      writeFileSync(file, JSON.stringify({ ops }));
      env = {
        TRUSTWARD_WEBHOOKS: file,
        TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
        TRUSTWARD_ALERTS_TO: 'ops',
        TRUSTWARD_SCHEDULE: '0 0 1 1 *',
        TRUSTWARD_LISTEN: '127.0.0.1:0',
        OPS_SECRET: 'canary-secret-of-a-webhook',
      };
    });
    afterEach(async () => {
      await receiver.close();
      rmSync(dir, { recursive: true, force: true });
    });

    const bodies = () => receiver.received.map(({ body }) => JSON.parse(body));

    it('come from the daemon for what a rule proposes and what waits, once each', async () => {
      const approve = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve');
      await start({ tell: TELL, ban: approve }, env);
      const deviceId = org.console.fleet.addDevice({ serial: 'TOLD-1', mdm_compromised: 'TRUE' });
      const daemon = await startDaemon(org.composition);
      await receiver.arrived(2);
      await daemon.stop();
      expect(new Set(bodies().map(({ kind }) => kind))).toEqual(new Set(['notify', 'alert']));
      const notified = bodies().find(({ kind }) => kind === 'notify');
      expect(notified.about).toMatchObject({ target: deviceId, rules: ['tell'] });
      expect(bodies().find(({ kind }) => kind === 'alert').about).toMatchObject({ alert: 'plan_waits', intents: 1 });
      const audit = JSON.stringify(await org.composition.engine.store.audit({ limit: 1_000 }));
      expect(audit).not.toContain('canary-secret');
    });

    it('come from a one-shot command after its run and before its end', async () => {
      await start({ tell: TELL }, env);
      org.console.fleet.addDevice({ serial: 'TOLD-2', mdm_compromised: 'TRUE' });
      await org.run('enforce');
      expect(receiver.received).toEqual([]);
      await org.composition.close();
      expect(bodies()).toMatchObject([{ kind: 'notify', about: { rules: ['tell'] } }]);
    });

    it('to a webhook that is not configured are refused in one line, and nothing starts', async () => {
      await start({ tell: TELL }, env);
      const { TRUSTWARD_WEBHOOKS: _, TRUSTWARD_ALERTS_TO: __, ...without } = { ...org.env, ...env };
      const config = readConfig({ ...without, TRUSTWARD_DB: join(dir, 'other.db') });
      await expect(composeEngine(config)).rejects.toThrow(/no webhook `ops` is configured: set TRUSTWARD_WEBHOOKS/);
    });
  });
});

describe('an applied plan of which little or nothing could be done', () => {
  let org: Organization;
  let ids: string[];
  let planId: string;

  beforeEach(async () => {
    org = await startOrganization({
      devices: 60,
      rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve') },
    });
    ids = ['HELD-1', 'HELD-2', 'HELD-3'].map((serial) =>
      org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }),
    );
    planId = (await org.run('enforce')).run.planId as string;
    await org.composition.close();
    expect(await command(['approve', planId], org.env)).toMatchObject({ code: 0 });
  });
  afterEach(() => org.close());

  function drift(...devices: (string | undefined)[]): void {
    for (const id of devices) org.console.fleet.patchDevice(id as string, { mdm_compromised: 'FALSE' });
  }

  async function firstLine(): Promise<string | undefined> {
    const { code, out } = await command(['apply', planId], org.env);
    expect(code).toBe(3);
    return out.split('\n')[0];
  }

  it('what was done, failed and was refused is counted, by the command, the view and the report', async () => {
    drift(ids[0]);
    org.console.faults?.set([{ kind: 'error', status: 400, match: { method: 'POST' }, times: 1 }]);
    expect(await firstLine()).toBe(`plan ${planId} was applied: 1 of 3 done, 1 failed, 1 refused`);
    const { out } = await command(['report'], org.env);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('and applied: 1 of 3 done, 1 failed, 1 refused.');
    expect((await command(['plans', planId], org.env)).out).toContain(
      'It was applied: 1 of 3 done, 1 failed, 1 refused.',
    );
    const listed = JSON.parse((await command(['plans', '--format', 'json'], org.env)).out).plans[0].progress;
    await org.restart();
    const { store } = org.composition.engine;
    const plan = (await store.plan(planId)) as Plan;
    const { progress } = views.plan(plan, await store.intents({ liveFor: episodesOf(plan) }));
    expect(progress).toMatchObject({ outcomes: { failed: 1, succeeded: 1 }, notBegun: [{ target: 'HELD-1' }] });
    expect(listed).toEqual(progress);
  });

  it('a plan of which nothing was done is never shown as applied alone', async () => {
    drift(...ids);
    expect(await firstLine()).toBe(`plan ${planId} was applied: 0 of 3 done, 3 refused`);
  });

  it('a plan that a refused credential interrupted is applied again as a whole', async () => {
    org.console.faults?.set([{ kind: 'unauthorized', match: { method: 'POST' } }]);
    expect((await command(['apply', planId], org.env)).code).toBe(1);
    org.console.faults?.clear();
    const { code, out } = await command(['apply', planId], org.env);
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toBe(`plan ${planId} was applied: 3 of 3 done`);
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
  });
});
