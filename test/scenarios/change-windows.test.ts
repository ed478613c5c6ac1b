// scenario: a change window over a real console: what every face shows of it, one plan that is let through, and what is done when it is over.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReportFormat } from '../../src/domain/replay.ts';
import { whyOf } from '../../src/engine/explain/why.ts';
import { applyPlan, approvePart } from '../../src/engine/operate/plans.ts';
import { writeReport } from '../../src/faces/report/index.ts';
import { changeWindowText } from '../../src/faces/report/plan-view.ts';
import { buildSummary } from '../../src/faces/report/summary/build.ts';
import { readChangeWindows } from '../../src/runtime/config/config.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

const HOUR = 3_600_000;
let org: Organization;
/** How far the engine's clock is ahead. */
let aheadMs: number;
let ids: string[];

const wall = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

beforeEach(async () => {
  const now = systemClock.nowMs();
  aheadMs = 0;
  org = await startOrganization({
    devices: 60,
    env: { TRUSTWARD_FREEZE: `${wall(now - HOUR)}-${wall(now + HOUR)} UTC`, TRUSTWARD_ACT_CONCURRENCY: '1' },
  });
  Object.assign(org.composition.engine, {
    clock: { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs },
  });
  ids = ['COLD-1', 'COLD-2', 'COLD-3'].map((serial) =>
    org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }),
  );
});
afterEach(() => org.close());

it('holds, shows itself everywhere, lets one plan through, undoes, and acts on the rest when it is over', async () => {
  const { engine } = org.composition;
  const held = await org.run('enforce');
  expect(
    held
      .of('hold', 'frozen')
      .map(({ target }) => target)
      .sort(),
  ).toEqual(['COLD-1', 'COLD-2', 'COLD-3']);
  expect(org.console.writes()).toEqual([]);

  const shown = async (format: ReportFormat) => {
    let text = '';
    for await (const chunk of writeReport(engine.store, held.run, format)) text += chunk;
    return text.replaceAll(/\s+/g, ' ');
  };
  expect(await shown('text')).toMatch(/CHANGE WINDOW \(.* UTC\) until \w{3} .* UTC .*: 3 actions wait for its end\./);
  expect(await shown('text')).toContain('HELD UNTIL THE CHANGE WINDOW ENDS (3)');
  const glass = `trustward approve ${held.run.planId} --break-glass --reason TEXT`;
  expect(await shown('text')).toContain(`\`${glass}\` lets all of that plan through before.`);
  expect(await shown('md')).toContain('## Held until the change window ends (3)');
  expect(await shown('html')).toContain('3 actions wait for its end');
  expect(JSON.parse(await shown('json')).operator.changeWindow).toMatchObject({ held: 3, endsAt: expect.any(String) });
  expect(await shown('csv')).toContain('frozen');

  const windows = readChangeWindows(org.env);
  const now = engine.clock.nowMs();
  const summary = await buildSummary(engine.store, now - HOUR, now, windows);
  expect(summary.changeWindow).toBe(changeWindowText(windows, now, 3));
  expect(summary.changeWindow).toMatch(/^the change window .* is in force until .*; 3 actions wait for its end$/);
  const why = await whyOf(org.composition.explaining(), 'COLD-1');
  expect(why.next).toContainEqual(
    expect.stringMatching(/^ban-compromised-device: ban_device COLD-1 is held: the change window/),
  );

  expect(why.commands).toContainEqual({
    purpose: 'do only this now, through the change window',
    command: `trustward approve ${held.run.planId} --only COLD-1 --break-glass --reason TEXT`,
  });

  const only = { rules: [], only: ['COLD-1'], except: [] };
  const { plan } = await approvePart(engine, held.run.planId ?? '', only, 'ada', 'an outbreak', true);
  expect((await applyPlan(engine, plan.id, 'ada')).plan.status).toBe('applied');
  expect(org.effects('device_banned')).toEqual([ids[0]]);
  const after = await whyOf(org.composition.explaining(), 'COLD-1');
  expect(after.states[0]?.last?.breakGlass).toMatchObject({ by: 'ada', reason: 'an outbreak' });
  const deeds = (await buildSummary(engine.store, now - HOUR, now + HOUR, windows)).people.some;
  expect(deeds.map(({ by, text, reason }) => [by, text, reason])).toContainEqual([
    'ada',
    `BROKE THE GLASS: let plan ${plan.id} through the change windows`,
    'an outbreak',
  ]);

  org.console.fleet.patchDevice(ids[0] as string, { mdm_compromised: 'FALSE' });
  await org.run('enforce');
  expect(org.effects('device_unbanned')).toEqual([ids[0]]);
  expect(org.effects('device_banned')).toEqual([ids[0]]);

  org.console.fleet.patchDevice(ids[1] as string, { mdm_compromised: 'FALSE' });
  aheadMs = 2 * HOUR;
  await org.run('enforce');
  await org.run('enforce');
  expect(org.effects('device_banned')).toEqual([ids[0], ids[2]]);
});

it('a broken glass counts when a checkpoint covers it, which it does in the same transaction', async () => {
  const { store } = org.composition.engine;
  const plan = await store.plan((await org.run('enforce')).run.planId ?? '');
  if (!plan) throw new Error('the run held nothing');
  const note = { kind: 'plan.glass_broken', body: { plan: plan.id, digest: plan.digest } } as const;
  await store.appendAudit([note]); // as somebody appends it who can write the file, and has no key
  expect(await store.auditedDigest('plan.glass_broken', plan.id)).toBeUndefined();
  const breakGlass = { at: 0, by: 'ada', reason: 'an outbreak' };
  await store.changePlan({ ...plan, status: 'interrupted', breakGlass }, [], [note]);
  expect(await store.auditedDigest('plan.glass_broken', plan.id)).toBe(plan.digest);
});
