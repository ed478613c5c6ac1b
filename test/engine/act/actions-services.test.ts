// test: the actions on services, through the real cycle, on the platform in memory: held, approved, read back, in doubt.
import { afterEach, describe, expect, it } from 'vitest';
import type { Intent } from '../../../src/domain/intent.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const SERVICE = 'shop.east';

function parse(then: string, more = '') {
  const text = `
id: on-service
subject: service
when: { "==": [{ var: Description }, "trouble"] }
then: ${then}
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
${more}
tests:
  - { name: trouble, given: { Description: trouble }, expect: match }
`;
  return parseRule(text, 'on-service.yaml', { traits: ACTIONS });
}

function ruleOf(then: string, more = ''): LoadedRule {
  const parsed = parse(then, more);
  if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
  return parsed.rule;
}

function problemsOf(then: string): string {
  const parsed = parse(then);
  return 'problems' in parsed ? parsed.problems.map(problemLine).join('\n') : '';
}

let on: OnPlatform;
afterEach(() => on?.close());

function start(...rules: LoadedRule[]): void {
  on = startOnPlatform({ rules });
  addService({});
}

function addService(fields: object, spec: object = {}): void {
  on.platform.services.set(SERVICE, {
    ServiceID: SERVICE,
    ServiceName: 'shop',
    ClusterName: 'east',
    Enabled: 'FALSE',
    ServiceVersion: 3,
    Description: 'trouble',
    ServiceSpec: JSON.stringify({
      metadata: { name: 'shop', cluster: 'east' },
      spec: { backend: { target: { name: 'db', port: '80' } }, client_cidrs: ['10.0.0.0/8'] },
      ...spec,
    }),
    ...fields,
  });
}

/** The plan of a run, approved and applied: what became of its one intent. */
async function approved(): Promise<Intent> {
  const { plan } = await on.run();
  const { intents } = await on.apply(await on.approve(plan));
  return intents[0] as Intent;
}

describe('deleting a service', () => {
  it('waits for a person, and is done when the service is gone', async () => {
    start(ruleOf('delete_service'));
    const { decisions } = await on.run();
    expect(decisions).toMatchObject([{ decision: 'hold', reason: 'approval_needed', target: SERVICE }]);
    expect(on.platform.sent).toEqual([]);
    expect(await approved()).toMatchObject({ outcome: 'succeeded' });
    expect(on.platform.sent).toEqual([`drop ${SERVICE}`]);
    expect(on.platform.services.has(SERVICE)).toBe(false);
  });

  it('is refused while the service is enabled, also when it was enabled after the approval', async () => {
    start(ruleOf('delete_service'));
    const { plan } = await on.run();
    const agreed = await on.approve(plan);
    addService({ Enabled: 'TRUE' });
    const { intents } = await on.apply(agreed);
    expect(intents).toMatchObject([{ status: 'withdrawn', note: expect.stringContaining('disable it first') }]);
    expect(on.platform.sent).toEqual([]);
  });

  it('whose answer was lost is confirmed by reading back, and not sent again', async () => {
    start(ruleOf('delete_service'));
    on.platform.answer(SERVICE, 'hidden');
    expect(await approved()).toMatchObject({ outcome: 'unknown' });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await on.intents()).toMatchObject([{ outcome: 'confirmed' }]);
    expect(on.platform.sent).toEqual([`drop ${SERVICE}`]);
  });

  it('in doubt is not tried again on a service that was enabled meanwhile', async () => {
    start(ruleOf('delete_service'));
    on.platform.answer(SERVICE, 'lost');
    await approved();
    addService({ Enabled: 'TRUE' });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await on.intents()).toMatchObject([{ outcome: 'parked' }]);
    expect(on.platform.sent).toHaveLength(1);
  });
});

describe('updating a service', () => {
  const PATCH =
    'update_service, with: { patch: { spec: { backend: { target: { port: "8443" } }, client_cidrs: null } } }';
  const rule = () => ruleOf(`{ action: ${PATCH} }`);
  const specNow = () => JSON.parse(on.platform.services.get(SERVICE)?.ServiceSpec as string);

  it('shows what it would set, waits for a person, and writes the whole spec with the patch in it', async () => {
    start(rule());
    const { decisions } = await on.run();
    expect(decisions[0]).toMatchObject({ decision: 'hold', reason: 'approval_needed' });
    expect(decisions[0]?.effect.text).toBe(
      `update service ${SERVICE}: set \`spec.backend.target.port\` from "80" to "8443", remove \`spec.client_cidrs\` (it is ["10.0.0.0/8"])`,
    );
    expect(await approved()).toMatchObject({ outcome: 'succeeded' });
    expect(on.platform.sent).toEqual([`write ${SERVICE}`]);
    expect(specNow()).toEqual({
      metadata: { name: 'shop', cluster: 'east' },
      spec: { backend: { target: { name: 'db', port: '8443' } } },
    });
  });

  it('leaves the difference in the audit, and no secret of the spec', async () => {
    start(
      ruleOf(
        '{ action: update_service, with: { patch: { spec: { oidc: null, backend: { target: { port: "1" } } } } } }',
      ),
    );
    addService({}, { spec: { oidc: { client_secret: 'CANARY' }, other: { password: 'CANARY' } } });
    await approved();
    const entries = await on.store.audit({ limit: 1_000 });
    const sent = entries.find((entry) => entry.kind === 'intent.sent');
    expect(JSON.parse(sent?.bytes as string).body.read.changes).toEqual([
      { path: 'spec.oidc', from: { client_secret: '[dropped]' }, to: null },
      { path: 'spec.backend', from: null, to: { target: { port: '1' } } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('CANARY');
    expect(specNow().spec.other.password).toBe('CANARY');
  });

  it('reads a spec that the server escaped for HTML, and keeps integers of 19 digits', async () => {
    start(rule());
    const spec = '{"metadata":{"name":"shop","cluster":"east"},"spec":{"n":1234567890123456789,"t":"a &lt; b"}}';
    addService({ ServiceSpec: spec.replaceAll('&', '&amp;').replaceAll('"', '&#34;') });
    let written: unknown;
    on.platform.onWrite = (call) => {
      written = call.spec;
      on.platform.onWrite = () => {};
      throw new Error('seen');
    };
    await approved();
    expect(written).toEqual({
      metadata: { name: 'shop', cluster: 'east' },
      spec: { n: 1234567890123456789n, t: 'a &lt; b', backend: { target: { port: '8443' } } },
    });
  });

  it('is refused when the spec names another service, which the server would create', async () => {
    start(rule());
    addService({}, { metadata: { name: 'other', cluster: 'east' } });
    expect(await approved()).toMatchObject({ status: 'withdrawn', note: expect.stringContaining('another name') });
    expect(on.platform.sent).toEqual([]);
  });

  it('by a rule that reads the spec has not drifted for its secret, and no drift shows one', async () => {
    const reading = { ...ruleOf('enable_service').raw, mode: 'approve' };
    const text = JSON.stringify({ ...reading, when: { in: ['"db"', { var: 'ServiceSpec' }] }, tests: [] });
    const parsed = parseRule(text, 'reads.json', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
    start(parsed.rule);
    const target = { backend: { target: { name: 'db', port: '80' } }, oidc: { client_secret: 'CANARY' } };
    addService({}, { spec: target });
    const { plan } = await on.run();
    const agreed = await on.approve(plan);
    addService({}, { spec: { ...target, more: 1 } });
    expect((await on.apply(agreed)).intents).toMatchObject([
      { status: 'withdrawn', note: expect.stringContaining('ServiceSpec was') },
    ]);
    expect(await approved()).toMatchObject({ outcome: 'succeeded' });
    expect(specNow().spec.oidc.client_secret).toBe('CANARY');
    expect(JSON.stringify([await on.store.audit({ limit: 1_000 }), await on.store.intents({})])).not.toContain(
      'CANARY',
    );
  });

  it('that is already in the wanted state calls nothing, and is not asked for again', async () => {
    start(rule());
    addService({}, { spec: { backend: { target: { port: '8443' } }, client_cidrs: null } });
    expect(await approved()).toMatchObject({ outcome: 'confirmed', attempts: 0 });
    const { decisions, plan } = await on.run();
    expect(decisions).toMatchObject([{ decision: 'skip', reason: 'already_acted' }]);
    expect(plan).toBeUndefined();
    expect(on.platform.sent).toEqual([]);
  });

  it('that failed is tried again with the patch that was approved then, after the rule was edited', async () => {
    start(rule());
    on.platform.answer(SERVICE, 'failed');
    expect(await approved()).toMatchObject({ outcome: 'failed' });
    on.rules(
      ruleOf('{ action: update_service, with: { patch: { spec: { backend: { target: { port: "9443" } } } } } }'),
    );
    expect(await approved()).toMatchObject({ outcome: 'succeeded', attempts: 2 });
    expect(specNow().spec.backend.target.port).toBe('9443');
    expect((await on.store.intents({}))[0]?.settings).toEqual({
      patch: { spec: { backend: { target: { port: '9443' } } } },
    });
  });

  it('by two rules with different patches is a conflict that names both', async () => {
    const other = parseRule(
      'id: other\nsubject: service\nwhen: { "==": [{ var: Description }, "trouble"] }\n' +
        'then: { action: update_service, with: { patch: { spec: { backend: null } } } }\nmode: enforce\n' +
        'limits: { max: 100, percent: 100 }\n',
      'other.yaml',
      { traits: ACTIONS },
    );
    if ('problems' in other) throw new Error('refused');
    start(rule(), other.rule);
    const { decisions } = await on.run();
    expect(decisions.map(({ rule: id, reason }) => [id, reason]).sort()).toEqual([
      ['on-service', 'conflict'],
      ['other', 'conflict'],
    ]);
  });

  it.each([
    ['update_service', 'needs `with: { patch: {…} }`'],
    ['{ action: update_service, with: { patch: {} } }', 'at least one member'],
    ['{ action: update_service, with: { patch: { metadata: { name: x } } } }', '`metadata.name`'],
    ['{ action: update_service, with: { patch: { metadata: { cluster: null } } } }', '`metadata.cluster`'],
    ['{ action: update_service, with: { patch: { metadata: null } } }', 'replace `metadata`'],
    ['{ action: update_service, with: { patch: { spec: { oidc: { client_secret: s } } } } }', 'is a secret'],
    ['{ action: update_service, with: { spec: {} } }', 'takes only `patch`'],
  ])('is refused at load as %s', (then, problem) => {
    expect(problemsOf(then)).toContain(problem);
  });
});
