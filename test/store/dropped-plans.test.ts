// test: superseded plans keep what a person is shown of them, and what waiting plans share is stored once and goes with the last of them.

import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { differenceFrom, type Plan } from '../../src/domain/plan.ts';
import { planDigest } from '../../src/engine/approve/plans.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { planText } from '../../src/faces/report/plan-text.ts';
import { migrate, SqliteDb } from '../../src/store/sqlite/database.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';

const DEVICES = ['d1', 'd2', 'd3'];
let on: OnPlatform;
let db: SqliteDb;
beforeEach(() => {
  db = new SqliteDb(new Database(':memory:'), ':memory:');
  migrate(db);
  on = startOnPlatform({ rules: [banRule({ mode: 'approve' })], db });
  for (const id of DEVICES) on.platform.addDevice(id);
});
afterEach(() => on.close());

const plan = async (id: string) => (await on.store.plan(id)) as Plan;
const rows = () => Number(db.get<{ n: number }>('SELECT count(*) AS n FROM planned_intents')?.n);

/** The plan of a run in which these are compromised. */
async function planWith(...ids: string[]): Promise<Plan> {
  for (const id of DEVICES) on.platform.compromised(id, ids.includes(id) ? 'TRUE' : 'FALSE');
  on.clock.pass(1_000);
  return (await on.run()).plan as Plan;
}

async function manyRuns(): Promise<void> {
  const { run } = await on.run();
  for (let count = 0; count < 100; count += 1) {
    const later = await on.store.beginRun({ ...run, id: `later${run.seq}-${count}` }, []);
    await on.store.finishRun({ ...later, status: 'completed', finishedAt: on.clock.nowMs() }, []);
  }
}

describe('an intent that several plans have', () => {
  it('is stored once, and goes with the last plan that has it', async () => {
    const first = await planWith('d1', 'd2');
    const second = await planWith('d1', 'd2', 'd3');
    expect(rows()).toBe(3);
    expect((await plan(first.id)).intents).toEqual(second.intents.filter(({ target }) => target !== 'S-d3'));
    const third = await planWith('d3');
    await manyRuns();
    while ((await on.store.dropPlanIntents()) > 0);
    expect(rows()).toBe(1);
    expect(await plan(third.id)).toEqual(third);
  });

  it('is not shared with a plan that a person answered', async () => {
    const { id, digest, intents } = await planWith('d1', 'd2');
    await on.approve(await plan(id));
    db.run("UPDATE planned_intents SET content = replace(content, 'S-d1', 'S-d3')");
    const approved = await plan(id);
    expect(approved).toMatchObject({ status: 'approved', digest, intents });
    expect(planDigest(approved.intents)).toBe(digest);
  });

  it('has another digest than its plan once its row is edited, and the plan is refused', async () => {
    const made = await planWith('d1');
    db.run("UPDATE planned_intents SET content = replace(content, 'S-d1', 'S-d3')");
    await expect(on.approve(made)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('its intents do not match its digest'),
    });
    db.run('DELETE FROM planned_intents');
    await expect(on.approve(made)).rejects.toMatchObject({ code: 'store_damaged' });
    await expect(on.store.planOutline(made.id)).resolves.toMatchObject({ id: made.id });
  });
});

describe('a plan that was superseded long ago', () => {
  it('keeps its digest, its size and the difference to its successor, and says that its actions are not kept', async () => {
    const first = await planWith('d1', 'd2');
    const second = await planWith('d2', 'd3');
    const before = await plan(first.id);
    const difference = await differenceFrom(on.store, before);
    expect(difference).toEqual({ added: 1, removed: 1, changed: 0 });
    const [line] = (await on.store.planLines({ status: 'superseded' }, { limit: 5 })).slice(-1);
    await manyRuns();
    await planWith('d1');
    while ((await on.store.dropPlanIntents()) > 0);
    const after = await plan(first.id);
    expect(after).toEqual({ ...before, intents: [], dropped: { intents: 2, difference } });
    expect(await differenceFrom(on.store, after)).toEqual(difference);
    expect((await on.store.planLines({}, { limit: 5 })).at(-1)).toEqual({ ...line, dropped: after.dropped });
    const context = { nowMs: on.clock.nowMs(), run: 1, live: [], difference };
    const text = planText(after, context).replaceAll(/\s+/g, ' ');
    expect(text).toContain(': 2 actions,');
    expect(text).toContain(`plan ${second.id}: 1 added, 1 removed`);
    expect(text).toContain('its actions are no longer kept');
    expect(await on.store.auditedDigest('plan.sealed', first.id)).toBe(first.digest);
    expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
    expect(await on.store.tableDifferences()).toEqual([]);
  });

  it('keeps its actions when a person answered it, and while it is of one of the newest runs', async () => {
    const answered = await planWith('d1');
    await on.approve(answered);
    const replaced = await planWith('d2');
    await planWith('d3');
    expect(await on.store.dropPlanIntents()).toBe(0);
    await manyRuns();
    while ((await on.store.dropPlanIntents()) > 0);
    expect((await plan(answered.id)).intents).toHaveLength(1);
    expect((await plan(replaced.id)).intents).toHaveLength(0);
  });
});
