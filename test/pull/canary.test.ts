// pull: secrets through the whole engine: what was dropped at the door is in no table, file, log, report or notification.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, trustward } from '../commands/trustward.ts';
import { DISABLE_FAILING, type Organization, startOrganization } from '../scenarios/organization.ts';

const CANARY = 'canary-9f3c-7720';
/** Reads the record as a whole and acts on it, so that facts, evidence and answers are written. */
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

const NOTIFY = DISABLE_OPEN.replace('disable-open-service', 'tell-of-open-service').replace(
  'disable_service',
  'notify',
);

let org: Organization;
let runs: Ended[];

beforeAll(async () => {
  org = await startOrganization({ devices: 20, rules: { open: DISABLE_OPEN, tell: NOTIFY, failing: DISABLE_FAILING } });
  await org.composition.close();
  org.console.faults?.set([
    { kind: 'garbage', match: { path: '/api/v1/registered_services' }, body: JSON.stringify([OPEN_SERVICE]) },
    {
      kind: 'garbage',
      match: { path: '/api/v1/disable_registered_service' },
      body: JSON.stringify({ Message: `refused: ${org.env.TRUSTWARD_API_KEY}` }),
    },
  ]);
  const env = { ...org.env, TRUSTWARD_LOG_LEVEL: 'debug' };
  runs = [];
  for (const args of [
    ['run', '--mode', 'enforce', '--format', 'json'],
    ['report', '--format', 'md'],
    ['audit', 'list', '--format', 'json', '--limit', '1000'],
  ])
    runs.push(await trustward(args, env));
});
afterAll(() => org.close());

describe('a secret in a service record', () => {
  it('is named as dropped, and the service is judged and acted on all the same', () => {
    const report = JSON.parse(runs[0]?.out ?? '');
    expect(report.decisions).toContainEqual(
      expect.objectContaining({ rule: 'disable-open-service', target: 'open.eu.tw', decision: 'act' }),
    );
    expect(report.snapshot.sources.services.dropped.sort()).toEqual([
      'OIDCClientSpec.client_secret',
      'ServiceSpec.metadata.tags.note.api_key',
      'ServiceSpec.spec.backend.password',
      'ServiceSpec.spec.http_settings.headers.Authorization',
    ]);
    expect(org.console.faults?.status().map(({ fired }) => fired > 0)).toEqual([true, true]); // it was really asked for
  });

  it('is in no report, log line or audit entry', () => {
    expect(runs.map(({ out }) => out.length > 200)).toEqual([true, true, true]);
    for (const { out, err } of runs) expect(out + err).not.toContain(CANARY);
  });

  it('is in no file of the engine; neither is the API key, also when the API repeats it', () => {
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
