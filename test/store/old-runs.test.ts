// test: old runs are taken out, and nothing that rests on one of them goes with it.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/audit/chain.ts';
import type { Mode } from '../../src/domain/mode.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';
import type { Answer } from '../support/platform.ts';

const DAY_MS = 86_400_000;
const NEWEST_KEPT = 1_000;

let on: OnPlatform;
const start = () => {
  on = startOnPlatform({ rules: [banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other', mode: 'approve' })] });
  for (const id of ['d1', 'd2']) on.platform.addDevice(id);
};
beforeEach(start);
afterEach(() => on.close());

/** So many later runs that no earlier one is among the newest. */
async function pushDown(): Promise<void> {
  const { run } = await on.run();
  for (let count = 0; count < NEWEST_KEPT; count += 1) {
    const later = await on.store.beginRun({ ...run, id: `later${run.seq}-${count}`, startedAt: on.clock.nowMs() }, []);
    await on.store.finishRun({ ...later, status: 'completed', finishedAt: on.clock.nowMs() }, []);
  }
}

const runsLeft = async (): Promise<RunRecord[]> => {
  const runs = await on.store.runs(5_000);
  return runs.filter(({ id }) => !id.startsWith('later')).reverse();
};
const seqsLeft = async () => (await runsLeft()).map(({ seq }) => seq);

describe('a run that is older than the runs that are kept', () => {
  it('stays in the database for ever, though nothing rests on it', async () => {
    for (let count = 0; count < 3; count += 1) await on.run();
    on.clock.pass(90 * DAY_MS);
    await pushDown();
    await on.run();
    expect(await seqsLeft()).toEqual([1, 2, 3, 4, 1_005]);
    on.clock.pass(1);
    await pushDown();
    expect(await seqsLeft()).toEqual([1, 2, 3, 4, 1_005, 1_006]);
    await on.run();
    expect(await seqsLeft()).toEqual([4, 1_005, 1_006, 2_007]);
    expect(await on.store.audit({ kind: 'run.started', limit: 10 })).toHaveLength(7);
    expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  });

  it('is removed without an entry in the audit', async () => {
    for (let count = 0; count < 3; count += 1) await on.run();
    on.clock.pass(91 * DAY_MS);
    await pushDown();
    await on.run();
    const entries = await on.store.audit({ kind: 'runs.removed', limit: 10 });
    expect(entries.map(({ bytes }) => JSON.parse(bytes).body)).toEqual([{ runs: 3, decisions: 0, upTo: 3 }]);
  });

  it('is taken out by a clock that the server does not share', async () => {
    await on.run();
    on.clock.pass(91 * DAY_MS);
    await pushDown();
    on.platform.skewMs = () => -301_000;
    await on.run();
    expect(await seqsLeft()).toContain(1);
    on.platform.skewMs = () => -300_000;
    await on.run();
    expect(await seqsLeft()).not.toContain(1);
  });

  it.each([91 * DAY_MS, -91 * DAY_MS])(
    'is not older, but taken out by a clock that is wrong by %i ms for some runs',
    async (ms) => {
      for (let count = 0; count < 3; count += 1) await on.run();
      await pushDown();
      for (const setMs of [ms, -ms]) {
        on.clock.now += setMs;
        for (let count = 0; count < 3; count += 1) await on.run();
      }
      expect(await seqsLeft()).toEqual([1, 2, 3, 4, 1_005, 1_006, 1_007, 1_008, 1_009, 1_010]);
    },
  );

  it('is taken out though it is one of the newest', async () => {
    for (let count = 0; count < 3; count += 1) await on.run();
    on.clock.pass(900 * DAY_MS);
    await on.run();
    expect(await seqsLeft()).toEqual([1, 2, 3, 4]);
  });

  it('is taken out although it made an intent, or its decision is still in force', async () => {
    on.platform.compromised('d1', 'TRUE');
    await on.run(); // 1 acts
    await on.run(); // 2 finds it done
    await on.run('dry-run'); // 3 says the same
    on.platform.patch('d2', { MdmData: { Other: 'TRUE' } });
    await on.run(); // 4 makes a plan
    on.platform.patch('d2', { MdmData: { Other: 'FALSE' } });
    await on.run(); // 5 ends what 4 decided
    await pushDown(); // 6
    await on.store.removeOldRuns(-1);
    const left = await seqsLeft();
    expect(left).toContain(1);
    expect(left).toContain(4);
    expect(left).not.toContain(5);
    expect(left).not.toContain(6);
    const openState = await on.store.openState(on.clock.nowMs());
    expect(openState.decisions.map(({ runSeq }) => runSeq).filter((seq) => !left.includes(seq))).toEqual([]);
  });

  it('takes with it what another run, an intent, a plan or the next decision rests on', async () => {
    let taken = 0;
    const step = fc.record({
      facts: fc.array(
        fc.tuple(fc.constantFrom('d1', 'd2'), fc.constantFrom('CompromisedStatus', 'Other'), fc.boolean()),
      ),
      mode: fc.constantFrom<Mode>('enforce', 'enforce', 'approve', 'dry-run'),
      answer: fc.constantFrom<Answer>('done', 'done', 'failed', 'lost'),
      approves: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        await on.close();
        start();
        for (const { facts, mode, answer, approves } of steps) {
          for (const [id, field, isBad] of facts) {
            const now = on.platform.devices.get(id)?.MdmData as object;
            on.platform.patch(id, { MdmData: { ...now, [field]: isBad ? 'TRUE' : 'FALSE' } });
          }
          on.platform.answer('S-d1', answer);
          on.clock.pass(QUIET_MS);
          const { plan } = await on.run(mode);
          if (approves && plan?.status === 'pending' && plan.mode !== 'dry-run') {
            await on.approve(plan);
            await on.apply(plan);
          }
        }
        await pushDown();
        const shown = new Map<number, unknown>();
        const before = await runsLeft();
        for (const run of before) shown.set(run.seq, await on.store.decisionsOfRun(run));
        const rest = async () => ({
          openState: await on.store.openState(on.clock.nowMs()),
          intents: await on.store.intents({}),
          plans: await on.store.plans({}, 1_000),
          claims: await on.store.claims({}),
        });
        const restBefore = await rest();
        while ((await on.store.removeOldRuns(-1)) !== undefined);
        const left = await runsLeft();
        taken += before.length - left.length;
        for (const run of left) expect(await on.store.decisionsOfRun(run)).toEqual(shown.get(run.seq));
        expect(await rest()).toEqual(restBefore);
        const ids = new Set(left.map(({ id }) => id));
        const madeIn = [...restBefore.intents, ...restBefore.plans, ...restBefore.openState.decisions];
        expect(madeIn.filter(({ runId }) => !ids.has(runId))).toEqual([]);
        expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
      }),
      { numRuns: 25, endOnFailure: true },
    );
    expect(taken).toBeGreaterThan(0);
  }, 60_000);
});
