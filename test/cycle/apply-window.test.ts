// test: an approved plan of a rule over events, whose window has slid on when it is applied.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ACTIONS } from '../../src/act/actions.ts';
import { parseRule, problemLine } from '../../src/evaluate/index.ts';
import { CaseWorld } from './case-world.ts';
import { type OnPlatform, startOnPlatform } from './engine-on-platform.ts';

const RULE = `
id: disable-failing
subject: service
when: { ">=": [{ event_count: { severity: ERROR, within: 10m } }, 2] }
then: disable_service
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, events: [{ severity: ERROR, ago: 1m, times: 2 }], expect: match }
`;
const TEN_MINUTES_MS = 600_000;
const SERVICE = 's1';
let on: OnPlatform;
let world: CaseWorld;

beforeEach(async () => {
  const parsed = parseRule(RULE, 'disable-failing.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
  on = startOnPlatform({ rules: [parsed.rule] });
  on.platform.services.set(SERVICE, { ServiceID: SERVICE, ServiceName: SERVICE, Enabled: 'TRUE' });
  world = new CaseWorld(on.platform, on.clock, { devices: [], users: [], services: [], listsBundles: true });
  await on.run(); // from now on events are known
  fails();
});
afterEach(() => on.close());

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
}

it('is applied all the same: people answer later than errors last', async () => {
  const plan = await approvedPlan();
  await slideOn();
  expect((await on.apply(plan)).refused).toEqual([]);
  expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
});

it('is not applied where its trouble had an attempt of its own, and is over', async () => {
  const plan = await approvedPlan();
  on.platform.answer(SERVICE, 'failed');
  await on.run();
  expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
  await slideOn();
  const { refused } = await on.apply(plan);
  expect(refused).toEqual([
    { action: 'disable_service', target: SERVICE, reason: `the trouble of ${SERVICE} is over` },
  ]);
  expect(on.platform.sent).toHaveLength(1);
});
