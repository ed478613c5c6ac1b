// test: services into and out of bundles, through the real cycle, on the platform in memory: with a list of bundles, and without one.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const SERVICE = 'shop.east';
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
