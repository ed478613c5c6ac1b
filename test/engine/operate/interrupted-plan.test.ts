// test: an approved plan whose applying is killed, at every await in turn: it is interrupted, shows what was done and what was not
// begun, and only applying it again in time continues it: the rest of it, and nothing twice.
import { afterEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/domain/plan.ts';
import { applyPlan } from '../../../src/engine/operate/plans.ts';
import { views } from '../../../src/faces/report/index.ts';
import { Crash, Life, mortal } from '../../support/crash.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const DAY_MS = 86_400_000;
const IDS = ['d1', 'd2', 'd3'];
let on: OnPlatform;
afterEach(() => on.close());

async function approvedPlan(): Promise<Plan> {
  on = startOnPlatform({ rules: [banRule({ mode: 'approve' })] });
  for (const id of IDS) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  return on.approve((await on.run()).plan);
}

/** Applies it in a process that ends at this step, and starts the next one. Returns whether it ended. */
async function applyUntil(plan: Plan, step: number): Promise<boolean> {
  const life = new Life(step);
  await applyIn(life, plan);
  return life.ended;
}

async function applyIn(life: Life, plan: Plan): Promise<void> {
  const engine = { ...on.engine, store: mortal(on.engine.store, life), api: mortal(on.engine.api, life) };
  await applyPlan(engine, plan.id, 'ana').catch((error) => {
    if (!(error instanceof Crash)) throw error;
  });
  on.restart();
  await on.store.abortStaleRuns(on.clock.nowMs());
}

/** Applies it in a process that ends in the middle of this call, which has its effect. */
async function interruptedAt(call: number): Promise<Plan> {
  const plan = await approvedPlan();
  const life = new Life(undefined);
  on.platform.onWrite = () => {
    life.ended = on.platform.sent.length + 1 === call;
  };
  await applyIn(life, plan);
  on.platform.onWrite = () => {};
  expect(await statusOf(plan)).toBe('interrupted');
  return plan;
}

const statusOf = async ({ id }: Plan) => (await on.store.plan(id))?.status;
const shown = async ({ id }: Plan) => {
  const plan = (await on.store.plan(id)) as Plan;
  const liveFor = plan.intents.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId));
  return views.plan(plan, await on.store.intents({ liveFor })).progress;
};

describe('an approved plan whose applying is killed', () => {
  it('at any await is interrupted, and applied again does the rest of it, and nothing twice', {
    timeout: 120_000,
  }, async () => {
    const seen = new Set<string | undefined>();
    for (let step = 1; ; step += 1) {
      const plan = await approvedPlan();
      if (!(await applyUntil(plan, step))) break;
      const status = await statusOf(plan);
      seen.add(status);
      const sent = [...on.platform.sent];
      const progress = await shown(plan);
      if (status === 'interrupted') {
        const begun = Object.values(progress?.outcomes ?? {}).reduce((sum, count) => sum + count, 0);
        expect(begun).toBeGreaterThanOrEqual(sent.length);
        expect(begun + (progress?.notBegun.length ?? 0)).toBe(IDS.length);
      }
      if (status !== 'applied') {
        const { plan: after } = await on.apply(plan);
        expect([after.status, after.digest]).toEqual(['applied', plan.digest]);
      }
      // What was in doubt stays in doubt, and is not sent by applying again.
      for (const one of new Set(sent)) expect(on.platform.sent.filter((each) => each === one)).toHaveLength(1);
      for (let round = 0; round < 2; round += 1) {
        on.clock.pass(QUIET_MS);
        await on.run();
      }
      expect({ step, sent: [...on.platform.sent].sort() }).toEqual({ step, sent: IDS.map((id) => `ban S-${id}`) });
      expect([...on.platform.effects].sort()).toEqual(IDS.map((id) => `ban S-${id}`));
      expect((await on.intents()).filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
      on.close();
    }
    expect([...seen].sort()).toEqual(['applied', 'approved', 'interrupted']);
  });

  it('shows what was done, what is in doubt and what was not begun, in JSON, in text and in Markdown', async () => {
    const plan = await interruptedAt(2);
    expect(await shown(plan)).toEqual({
      outcomes: { succeeded: 1, unknown: 1 },
      notBegun: [{ action: 'ban_device', target: 'S-d3' }],
    });
    const run = (await on.store.latestRun())!;
    for (const format of ['text', 'md'] as const) {
      const pieces = views.report(on.store, run, format, { actions: on.engine.actions });
      let report = '';
      for await (const piece of pieces) report += piece;
      const text = report.replaceAll('\\', '').replaceAll(/[\s`]+/g, ' ');
      expect(text).toContain(
        `Plan ${plan.id} was interrupted while it was applied: 1 succeeded, 1 in doubt, 1 not begun`,
      );
      expect(text).toContain('ban_device S-d3');
      expect(text).toContain(`trustward apply ${plan.id}`);
    }
    const { kind, bytes } = (await on.store.audit({ kind: 'plan.interrupted', limit: 1 }))[0]!;
    expect([kind, JSON.parse(bytes).body.plan]).toEqual(['plan.interrupted', plan.id]);
  });

  it('is continued by nothing else: no run does the rest of it, which waits in a new plan', async () => {
    const plan = await interruptedAt(1);
    on.clock.pass(QUIET_MS);
    const { plan: next } = await on.run();
    await on.run();
    expect(on.platform.sent).toHaveLength(1);
    expect(next?.intents.map(({ target }) => target)).toEqual(['S-d2', 'S-d3']);
    expect(await statusOf(plan)).toBe('interrupted');
  });

  it('does no more of it than what still holds', async () => {
    const plan = await interruptedAt(1);
    on.platform.compromised('d2', 'UNSURE');
    const { intents } = await on.apply(plan);
    expect(intents.map(({ target, status }) => [target, status])).toEqual([
      ['S-d2', 'withdrawn'],
      ['S-d3', 'settled'],
    ]);
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d3']);
    await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is refused after its time', async () => {
    const plan = await interruptedAt(1);
    on.clock.pass(DAY_MS);
    await expect(on.apply(plan)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('expired'),
    });
    expect(on.platform.sent).toHaveLength(1);
  });

  it('in the middle of another apply is continued again', async () => {
    const plan = await interruptedAt(1);
    for (let step = 1; (await statusOf(plan)) === 'interrupted'; step += 3) await applyUntil(plan, step);
    for (const serial of ['S-d2', 'S-d3'])
      expect(on.platform.sent.filter((sent) => sent.endsWith(serial)).length).toBeLessThanOrEqual(1);
    expect(await statusOf(plan)).toBe('applied');
  });
});
