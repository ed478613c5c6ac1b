// test: an approved plan of a rule over events, applied when its window has moved on.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { CaseWorld } from '../../support/case-world.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

function failing(then: string, revert: boolean): LoadedRule {
  return parsed(`
id: failing
subject: service
when: { ">=": [{ event_count: { severity: ERROR, within: 10m } }, 2] }
then: ${then}
mode: enforce
revert: ${revert}
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, events: [{ severity: ERROR, ago: 1m, times: 2 }], expect: match }
`);
}

const unused = () =>
  parsed(`
id: unused
subject: service
when: { "==": [{ var: Description }, "unused"] }
then: delete_service
mode: enforce
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: unused }, expect: match }
`);

function parsed(text: string): LoadedRule {
  const rule = parseRule(text, 'rule.yaml', { traits: ACTIONS });
  if ('problems' in rule) throw new Error(rule.problems.map(problemLine).join('\n'));
  return rule.rule;
}

const TEN_MINUTES_MS = 600_000;
const SERVICE = 's1';
let on: OnPlatform;
let world: CaseWorld;

beforeEach(async () => {
  on = startOnPlatform({ rules: [failing('disable_service', true)] });
  serviceIs({ Enabled: 'TRUE' });
  world = new CaseWorld(on.platform, on.clock, { devices: [], users: [], services: [], listsBundles: true });
  await on.run(); // from now on events are known
  fails();
});
afterEach(() => on.close());

function serviceIs(fields: Facts): void {
  on.platform.services.set(SERVICE, { ServiceID: SERVICE, ServiceName: SERVICE, ...fields });
}

function fails(): void {
  on.clock.pass(1_000);
  for (let count = 0; count < 2; count += 1) world.fail(SERVICE);
  on.clock.pass(1_000);
}

async function approvedPlan() {
  const { plan } = await on.run('approve');
  expect(plan?.intents).toMatchObject([{ action: 'disable_service', target: SERVICE }]);
  return on.approve(plan);
}

async function slideOn(): Promise<void> {
  on.clock.pass(TEN_MINUTES_MS + 1_000);
  await on.run();
  await on.run(); // a second reading: nothing dates what a window counts
}

it('a plan is applied after its window has emptied: people answer later than errors last', async () => {
  const plan = await approvedPlan();
  await slideOn();
  expect((await on.apply(plan)).refused).toEqual([]);
  expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
});

it('a plan is not applied where its episode had an attempt of its own, and has cleared', async () => {
  const plan = await approvedPlan();
  on.platform.answer(SERVICE, 'failed');
  await on.run();
  expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
  await slideOn();
  const { refused } = await on.apply(plan);
  expect(refused).toEqual([
    { action: 'disable_service', target: SERVICE, reason: `rule failing has ceased to match ${SERVICE} since` },
  ]);
  expect(on.platform.sent).toHaveLength(1);
});

it('a plan deletes a service after the same rule disabled it, although that ended its errors', async () => {
  on.rules(failing('[disable_service, delete_service]', false));
  await on.run();
  on.clock.pass(QUIET_MS);
  const plan = await on.approve((await on.run()).plan);
  await slideOn();
  expect((await on.apply(plan)).refused).toEqual([]);
  expect(on.platform.sent).toEqual([`disable ${SERVICE}`, `drop ${SERVICE}`]);
});

it('a plan is not applied to a service that was deleted and created again', async () => {
  const plan = await approvedPlan();
  serviceIs({ Enabled: 'FALSE', Description: 'unused' });
  await on.run(); // sees that somebody disabled it
  on.rules(failing('disable_service', true), unused());
  await on.apply(await on.approve((await on.run()).plan));
  serviceIs({ Enabled: 'TRUE' });
  expect((await on.apply(plan)).refused).toMatchObject([
    { reason: `rule failing has ceased to match ${SERVICE} since` },
  ]);
  expect(on.platform.sent).toEqual([`drop ${SERVICE}`]);
});
