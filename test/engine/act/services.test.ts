// test: the actions on services and their bundles, through the real cycle, on the platform in memory: held, approved, read back, in doubt.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const SERVICE = 'shop.east';

describe('the actions on services, through the real cycle, on the platform in memory', () => {
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
});

describe('services into and out of bundles, through the real cycle, on the platform in memory', () => {
  const BUNDLE = '9007199254740993001';

  let on: OnPlatform;
  afterEach(() => on.close());

  function parse(then: string) {
    const text = `
id: bundle
subject: service
when: { "==": [{ var: Description }, "trouble"] }
then: ${then}
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: trouble }, expect: match }
`;
    return parseRule(text, 'bundle.yaml', { traits: ACTIONS });
  }

  function problemsOf(then: string): string {
    const parsed = parse(then);
    return 'problems' in parsed ? parsed.problems.map(problemLine).join('\n') : '';
  }

  const ADDING = `{ action: add_to_bundle, with: { bundle: "${BUNDLE}" } }`;

  function rule(then = ADDING): LoadedRule {
    const parsed = parse(then);
    if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
    return parsed.rule;
  }

  function described(Description: string): void {
    on.platform.services.set(SERVICE, {
      ServiceID: SERVICE,
      ServiceName: 'shop',
      Enabled: 'TRUE',
      Description,
      LastUpdatedAt: on.platform.reportedAt(),
    });
  }

  function startWithBundle(then?: string): void {
    on = startOnPlatform({ rules: [rule(then)] });
    described('trouble');
    on.platform.bundles.set(BUNDLE, new Set());
  }

  describe('bundles', () => {
    it('get the service, and lose it when the match is over', async () => {
      startWithBundle();
      const { decisions } = await on.run();
      expect(decisions).toMatchObject([{ decision: 'act', target: `${SERVICE} ${BUNDLE}` }]);
      expect([...(on.platform.bundles.get(BUNDLE) ?? [])]).toEqual([SERVICE]);
      described('fine');
      await on.run();
      expect(on.platform.sent).toEqual([`bundle ${SERVICE} ${BUNDLE}`, `unbundle ${SERVICE} ${BUNDLE}`]);
      expect(await on.store.claims({ status: 'standing' })).toEqual([]);
    });

    const members = () => on.platform.bundles.get(BUNDLE) as Set<string>;
    const reasons = ({ decisions }: Awaited<ReturnType<OnPlatform['run']>>) => decisions.map(({ reason }) => reason);

    it('keep a service that a person put there, before and after the match, and a dry run shows it', async () => {
      startWithBundle();
      members().add(SERVICE);
      for (const mode of ['dry-run', 'enforce'] as const)
        expect((await on.run(mode)).decisions).toMatchObject([{ decision: 'skip', reason: 'already_so' }]);
      described('fine');
      await on.run();
      expect(on.platform.sent).toEqual([]);
      expect(await on.intents()).toEqual([]);
    });

    it('are left alone while the match lasts when a person took the service out again', async () => {
      startWithBundle();
      await on.run();
      members().delete(SERVICE);
      on.clock.pass(QUIET_MS);
      expect(reasons(await on.run())).toEqual(['overridden']);
      members().add(SERVICE); // by hand: not to be taken out when the match is over
      await on.run();
      described('fine');
      await on.run();
      expect(on.platform.sent).toEqual([`bundle ${SERVICE} ${BUNDLE}`]);
    });

    it('are left alone when a person took out what a rule had found there', async () => {
      startWithBundle();
      members().add(SERVICE);
      await on.run();
      members().delete(SERVICE);
      expect(reasons(await on.run())).toEqual(['overridden']);
      expect(on.platform.sent).toEqual([]);
    });

    it('get a service that its rule had found switched off already, run after run', async () => {
      startWithBundle(`[disable_service, ${ADDING}]`);
      on.platform.services.set(SERVICE, { ...on.platform.services.get(SERVICE), Enabled: 'FALSE' });
      await on.run('dry-run');
      await on.run();
      expect(on.platform.sent).toEqual([`bundle ${SERVICE} ${BUNDLE}`]);
    });

    it('do not get a service that a person has just switched on again', async () => {
      startWithBundle(`[${ADDING}, disable_service]`);
      on.platform.answer(`${SERVICE} ${BUNDLE}`, 'failed');
      await on.run();
      on.platform.services.set(SERVICE, { ...on.platform.services.get(SERVICE), Enabled: 'TRUE' });
      on.clock.pass(QUIET_MS);
      expect(reasons(await on.run())).toEqual(['overridden', 'overridden']);
      expect(on.platform.sent).toEqual([`bundle ${SERVICE} ${BUNDLE}`, `disable ${SERVICE}`]);
    });

    it('that cannot be read count as unlisted: preflight reads them again', async () => {
      startWithBundle();
      members().add(SERVICE);
      let fails = 1;
      on.platform.onRead = (what) => {
        if (what === 'target') fails -= 1;
        on.platform.readFault = fails === 0 ? new AppError('api_unreachable', 'no answer') : undefined;
      };
      expect(reasons(await on.run())).toEqual(['already_so']);
      expect(on.platform.sent).toEqual([]);
      expect(await on.intents()).toMatchObject([{ status: 'withdrawn' }]);
    });

    it('of a server that does not list them: a definite answer is believed', async () => {
      startWithBundle();
      on.platform.listsBundles = false;
      await on.run();
      expect(await on.intents()).toMatchObject([{ outcome: 'succeeded' }]);
    });

    it('of a server that does not list them: a doubt is parked at once, and nothing is sent again', async () => {
      startWithBundle();
      on.platform.listsBundles = false;
      on.platform.answer(`${SERVICE} ${BUNDLE}`, 'hidden');
      await on.run();
      on.clock.pass(QUIET_MS);
      const { decisions } = await on.run();
      expect(await on.intents()).toMatchObject([{ outcome: 'parked' }]);
      expect(decisions).toMatchObject([{ decision: 'skip', reason: 'in_doubt' }]);
      expect(on.platform.sent).toHaveLength(1);
    });

    const target = `${SERVICE} ${BUNDLE}`;
    const ADA = { by: 'ada', reason: 'she looked' };
    async function parked(action: string): Promise<string> {
      return (await on.store.intents({ outcome: 'parked' })).find((intent) => intent.action === action)?.id as string;
    }

    it('of a server that does not list them: an undo resolved as done does not end what was done after it', async () => {
      startWithBundle();
      on.platform.listsBundles = false;
      await on.run();
      described('fine');
      on.platform.answer(target, 'hidden');
      on.clock.pass(1_000);
      await on.run();
      described('trouble');
      on.platform.answer(target);
      on.clock.pass(1_000);
      await on.run();
      await resolveIntent(on.engine, await parked('remove_from_bundle'), 'done', ADA);
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toEqual([`bundle ${target}`, `unbundle ${target}`, `bundle ${target}`]);
    });

    it('of a server that does not list them: an addition resolved as done is not undone when an undo came after it', async () => {
      startWithBundle();
      on.platform.listsBundles = false;
      on.platform.answer(target, 'hidden');
      await on.run();
      const first = await parked('add_to_bundle');
      described('fine');
      on.clock.pass(1_000);
      await on.run();
      described('trouble');
      on.platform.answer(target);
      on.clock.pass(1_000);
      await on.run();
      described('fine');
      on.platform.answer(target, 'hidden');
      on.clock.pass(1_000);
      await on.run();
      expect(on.platform.sent).toEqual([`bundle ${target}`, `bundle ${target}`, `unbundle ${target}`]);
      await resolveIntent(on.engine, first, 'done', ADA);
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toHaveLength(3);
    });

    it('of a server that lists them: a doubt is resolved by reading back', async () => {
      startWithBundle();
      on.platform.answer(`${SERVICE} ${BUNDLE}`, 'hidden');
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(await on.intents()).toMatchObject([{ outcome: 'confirmed' }]);
      expect(on.platform.sent).toHaveLength(1);
    });

    it.each([
      ['add_to_bundle', 'needs `with: { bundle: ID }`'],
      ['{ action: add_to_bundle, with: { bundle: 9007199254740993 } }', 'write it in quotes'],
      ['{ action: remove_from_bundle, with: { bundle: "a b" } }', 'without spaces'],
      ['{ action: remove_from_bundle, with: { bundle: "a", and: 1 } }', '`and` is given'],
    ])('are refused at load as %s', (then, problem) => {
      expect(problemsOf(then)).toContain(problem);
    });
  });
});
