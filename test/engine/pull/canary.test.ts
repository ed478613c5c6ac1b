// pull: secrets through the whole engine: what was dropped at the entrance is in no table, file, log, report or
// notification.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildProgram } from '../../../src/faces/cli/program.ts';
import { DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../../support/receiver.ts';
import { type Ended, trustward } from '../../support/trustward.ts';
import { CANARY, hostile, serviceWith } from './secret-forms.ts';

/** Reads the whole record and acts on it, so that facts, evidence and answers are written. */
const DISABLE_OPEN = `
id: disable-open-service
title: Disable services that let everybody in
severity: high
subject: service
when:
  and:
    - { "==": [{ var: OIDCEnabled }, "TRUE"] }
    - { "!=": [{ var: $spec.metadata.name }, "nobody"] }
then: disable_service
mode: enforce
limits: { max: 50, percent: 100 }
tests:
  - { name: open, given: { OIDCEnabled: "TRUE" }, expect: match }
`;

const SPEC = JSON.stringify({
  kind: 'BanyanService',
  metadata: { name: 'open', tags: { note: `{"api_key":"${CANARY}"}` } },
  spec: { backend: { password: CANARY }, http_settings: { headers: { Authorization: `Bearer ${CANARY}` } } },
});
const OPEN_SERVICE = {
  ServiceID: 'open.eu.tw',
  ServiceName: 'open',
  ClusterName: 'eu',
  Enabled: 'TRUE',
  OIDCEnabled: 'TRUE',
  OIDCClientSpec: JSON.stringify({ client_id: 'open', client_secret: CANARY }).replaceAll('"', '&#34;'),
  ServiceSpec: SPEC,
};

const OF_HOSTILE = DISABLE_OPEN.replaceAll('"TRUE"', '"FALSE"').replace('max: 50', 'max: 500');
/** Reads whole specs, so that they are facts, and notifies about them. */
const NOTIFY = OF_HOSTILE.replace('disable-open-service', 'tell-of-open-service')
  .replace('then: disable_service', 'then: { action: notify, with: { to: ops } }')
  .replace('{ var: $spec.metadata.name }, "nobody"', '{ var: ServiceSpec }, "none"');
/** What it removes is shown, as far as allowed, to the operator who approves it. */
const UPDATE = OF_HOSTILE.replace('disable-open-service', 'clear-open-service')
  .replace('then: disable_service', 'then: { action: update_service, with: { patch: { spec: { hostile: null } } } }')
  .replace('mode: enforce', 'mode: approve');
const HOSTILE = fc
  .sample(hostile, { numRuns: 120, seed: 7 })
  .map((value, index) => serviceWith(`hostile-${index}`, value));

let org: Organization;
let receiver: Receiver;
let runs: Ended[];
/** The output of further commands. */
const written: string[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  const rules = { open: DISABLE_OPEN, failing: DISABLE_FAILING };
  org = await startOrganization({ devices: 20, rules });
  await org.composition.close();
  for (const [name, text] of Object.entries({ tell: NOTIFY, clear: UPDATE }))
    writeFileSync(join(org.rulesDir, `${name}.yaml`), text);
  writeFileSync(join(org.dir, 'ca.pem'), CERTIFICATE);
  const ops = { url: `https://localhost:${receiver.port}/`, secretEnv: 'OPS', allowPrivate: true };
  writeFileSync(join(org.dir, 'webhooks.json'), JSON.stringify({ ops: { ...ops, caFile: join(org.dir, 'ca.pem') } }));
  org.console.faults?.set([
    {
      kind: 'garbage',
      match: { path: '/api/v1/registered_services' },
      body: JSON.stringify([OPEN_SERVICE, ...HOSTILE]),
    },
    {
      kind: 'garbage',
      match: { path: '/api/v1/disable_registered_service' },
      body: JSON.stringify({ Message: `refused: ${org.env.TRUSTWARD_API_KEY}` }),
    },
  ]);
  const env = {
    ...org.env,
    TRUSTWARD_LOG_LEVEL: 'debug',
    TRUSTWARD_WEBHOOKS: join(org.dir, 'webhooks.json'),
    TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
    OPS: 'a secret of some length',
  };
  runs = [];
  for (const args of [
    ['run', '--mode', 'enforce', '--format', 'json'],
    ['report', '--format', 'md'],
    ['audit', 'list', '--format', 'json', '--limit', '1000'],
  ])
    runs.push(await trustward(args, env));
  const io = {
    env,
    out: (text: string) => void written.push(text),
    err: () => {},
    untilStopped: () => new Promise<void>(() => {}),
  };
  for (const args of [
    ['report', '--format', 'text'],
    ['decisions', '--format', 'json'],
    ['plan', '--format', 'json'],
    ['audit', 'export'],
  ])
    expect([args, await buildProgram(io)(args)]).toEqual([args, 0]);
}, 120_000);
afterAll(async () => {
  await org.close();
  await receiver.close();
});

describe('a secret in a service record', () => {
  it('is named as dropped, and the service is still judged and acted on', () => {
    const report = JSON.parse(runs[0]?.out ?? '');
    expect(report.decisions).toContainEqual(
      expect.objectContaining({ rule: 'disable-open-service', target: 'open.eu.tw', decision: 'act' }),
    );
    const { dropped } = report.snapshot.sources.services;
    expect(dropped.filter((name: string) => !name.startsWith('ServiceSpec.spec.hostile')).sort()).toEqual([
      'OIDCClientSpec.client_secret',
      'ServiceSpec.metadata.tags.note.api_key',
      'ServiceSpec.spec.backend.password',
      'ServiceSpec.spec.http_settings.headers.Authorization',
    ]);
    expect(dropped.length).toBeGreaterThan(20);
    expect(org.console.faults?.status().map(({ fired }) => fired > 0)).toEqual([true, true]); // it was really requested
  });

  it('is in no report, log line or audit entry', () => {
    expect(runs.map(({ out }) => out.length > 200)).toEqual([true, true, true]);
    for (const { out, err } of runs) expect(out + err).not.toContain(CANARY);
  });

  it('in any form is in no list of decisions, plan, audit export or notification', () => {
    const all = written.join('');
    for (const { ServiceID } of HOSTILE) expect(all).toContain(ServiceID);
    expect(all).toContain('spec.hostile');
    expect(all).not.toContain(CANARY);
    const received = receiver.received.map(({ body }) => body);
    expect(received.some((body) => body.includes('hostile'))).toBe(true);
    expect(received.join()).not.toContain(CANARY);
  });

  it('is in no file of the engine; neither is the API key, even when the API repeats it', () => {
    const files = readdirSync(org.dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.startsWith('trustward.db'))
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const bytes = readFileSync(file);
      expect(bytes.includes(CANARY)).toBe(false);
      expect(bytes.includes(org.env.TRUSTWARD_API_KEY as string)).toBe(false);
    }
    for (const { out, err } of runs) expect(out + err).not.toContain(org.env.TRUSTWARD_API_KEY);
  });
});
