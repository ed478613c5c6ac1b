// scenario: an applied plan of which little or nothing could be done: the command, the HTTP view and the report show what was done.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { episodesOf, type Plan } from '../../src/domain/plan.ts';
import { views } from '../../src/faces/report/index.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

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
