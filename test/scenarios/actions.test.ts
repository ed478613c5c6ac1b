// scenario: the further actions against the real console over HTTP, and notifications to a real receiver over https.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { ManagementClient } from '../../src/platform/client.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemRandom } from '../../src/runtime/system/ids.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../support/receiver.ts';

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
  await answerPlan(engine, planId as string, 'approve', 'ada', 'looked at it');
  return applyPlan(engine, planId as string, 'ana');
}

describe('a service that is to be deleted', () => {
  it('waits for an approval, is refused while enabled, and is deleted after it was disabled', async () => {
    await start({ retired: rule('retired', 'delete_service') });
    const id = await addService('retired');
    const first = await org.run('enforce');
    expect(first.of('hold', 'approval_needed').map(({ target }) => target)).toEqual([id]);
    const refused = await approveAndApply(first.run.planId);
    expect(refused.intents).toMatchObject([{ status: 'withdrawn', note: expect.stringContaining('disable it first') }]);
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
