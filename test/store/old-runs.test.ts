// test: old runs and superseded plans are taken out, and nothing that rests on one of them goes with it.

import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoredDecision } from '../../src/domain/decision.ts';
import { planDigest } from '../../src/domain/digest.ts';
import { differenceFrom, type Plan, plannedCounts } from '../../src/domain/plan.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { RunRecord } from '../../src/domain/store.ts';

import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { planText } from '../../src/faces/report/plan-text.ts';
import { titleOf } from '../../src/faces/web/pages/plan-answer.tsx';
import { SqliteDb } from '../../src/store/sqlite/database.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../support/engine-on-platform.ts';
import { freshBytes, freshDatabase } from '../support/memory-database.ts';
import type { Answer } from '../support/platform.ts';

describe('old runs are taken out, and nothing that rests on one of them goes with it', () => {
  const DAY_MS = 86_400_000;
  const NEWEST_KEPT = 1_000;

  const RULES = [banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other', mode: 'approve' })];

  let on: OnPlatform;
  const start = (db?: SqliteDb) => {
    on = startOnPlatform({ rules: RULES, ...(db && { db }) });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id);
  };
  beforeEach(() => start());
  afterEach(() => on.close());

  /** So many later runs that no earlier one is among the newest. */
  async function pushDown(): Promise<void> {
    const { run } = await on.run();
    for (let count = 0; count < NEWEST_KEPT; count += 1) {
      const later = await on.store.beginRun(
        { ...run, id: `later${run.seq}-${count}`, startedAt: on.clock.nowMs() },
        [],
      );
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
      expect(entries.map(({ bytes }) => JSON.parse(bytes).body)).toEqual([
        { runs: 3, decisions: 0, intents: 0, plans: 0, episodes: 0, upTo: 3 },
      ]);
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
      expect(left).not.toContain(4); // its plan was superseded, and nobody answered it
      expect(left).not.toContain(5);
      expect(left).not.toContain(6);
      const openState = await on.store.openState(on.clock.nowMs());
      expect(openState.decisions.map(({ runSeq }) => runSeq).filter((seq) => !left.includes(seq))).toEqual([]);
    });

    it('takes with it what another run, an answered plan or the next decision rests on', async () => {
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(STEP, { minLength: 4, maxLength: 14 }), async (steps) => {
          await on.close();
          start();
          for (const step of steps) await live(on, step);
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
          const { openState, intents, plans, claims } = await rest();
          // An engine removes nothing that is younger than a day or a cooldown: what acting looks back for is not among it.
          const { lastAttempts, attempts24h } = openState;
          expect(openState).toEqual({ ...restBefore.openState, lastAttempts, attempts24h });
          const ids = new Set(left.map(({ id }) => id));
          expect(intents.filter(({ runId }) => ids.has(runId))).toEqual(
            restBefore.intents.filter(({ runId }) => ids.has(runId)),
          );
          // A report that remains has its intents.
          const shownIntents = [...shown].flatMap(([seq, decisions]) =>
            left.some((run) => run.seq === seq) ? (decisions as StoredDecision[]) : [],
          );
          const known = new Set(intents.map(({ id }) => id));
          expect(shownIntents.filter(({ intentId }) => intentId !== undefined && !known.has(intentId))).toEqual([]);
          expect(claims).toEqual(restBefore.claims.filter(({ id }) => claims.some((claim) => claim.id === id)));
          expect(plans).toEqual(restBefore.plans.filter(({ id }) => plans.some((plan) => plan.id === id)));
          const isOver = ({ status, decidedAt }: Plan) =>
            decidedAt === undefined && (status === 'superseded' || status === 'expired');
          const gone = restBefore.plans.filter(({ id }) => !plans.some((plan) => plan.id === id));
          expect(gone.filter((plan) => !isOver(plan))).toEqual([]);
          const madeIn = [...plans, ...openState.decisions];
          expect(madeIn.filter(({ runId }) => !ids.has(runId))).toEqual([]);
          expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
          expect(await on.store.tableDifferences()).toEqual([]);
        }),
        { numRuns: 10, endOnFailure: true },
      );
      expect(taken).toBeGreaterThan(0);
    }, 300_000);

    it('changes by its removal what is decided and done afterwards', async () => {
      let taken = 0;
      const lives = fc.array(STEP, { minLength: 4, maxLength: 14 });
      await fc.assert(
        fc.asyncProperty(lives, fc.array(STEP, { minLength: 2, maxLength: 4 }), async (steps, later) => {
          await on.close();
          const connection = new Database(freshBytes());
          const db = new SqliteDb(connection, ':memory:');
          start(db);
          for (const step of steps) await live(on, step);
          await pushDown();
          on.clock.pass(2 * DAY_MS); // as in an engine, no attempt of the last day is among what is old
          const bytes = connection.serialize();
          const told = await afterwards(bytes, later);
          while ((await on.store.removeOldRuns(-1)) !== undefined) taken += 1;
          expect(await afterwards(connection.serialize(), later)).toEqual(told);
        }),
        { numRuns: 8, endOnFailure: true },
      );
      expect(taken).toBeGreaterThan(0);
    }, 300_000);
  });

  const STEP = fc.record({
    facts: fc.array(fc.tuple(fc.constantFrom('d1', 'd2'), fc.constantFrom('CompromisedStatus', 'Other'), fc.boolean())),
    mode: fc.constantFrom<Mode>('enforce', 'enforce', 'approve', 'dry-run'),
    answer: fc.constantFrom<Answer>('done', 'done', 'failed', 'lost'),
    approves: fc.boolean(),
  });
  type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

  async function live(one: OnPlatform, { facts, mode, answer, approves }: Step): Promise<Round> {
    for (const [id, field, isBad] of facts) {
      const now = one.platform.devices.get(id)?.MdmData as object;
      one.platform.patch(id, { MdmData: { ...now, [field]: isBad ? 'TRUE' : 'FALSE' } });
    }
    one.platform.answer('S-d1', answer);
    one.clock.pass(QUIET_MS);
    const round = await one.run(mode);
    const { plan } = round;
    if (approves && plan?.status === 'pending' && plan.mode !== 'dry-run') {
      await one.approve(plan);
      await one.apply(plan);
    }
    return round;
  }

  /** What later runs over a copy of the database decide and send. */
  async function afterwards(bytes: Buffer, steps: readonly Step[]): Promise<unknown> {
    const copy = startOnPlatform({ rules: RULES, db: new SqliteDb(new Database(bytes), ':memory:') });
    copy.clock.now = on.clock.now;
    copy.restart();
    for (const [id, device] of on.platform.devices) copy.platform.devices.set(id, device);
    const { next } = copy.engine.ids;
    copy.engine.ids = { next: () => `0later${next()}` };
    const decided: unknown[] = [];
    for (const step of steps) {
      const { decisions } = await live(copy, step);
      decided.push(
        decisions
          .map(({ rule, subject, decision, reason, action, target }) =>
            [rule, subject.id, decision, reason, action, target].join(' '),
          )
          .sort(),
      );
    }
    const { sent } = copy.platform;
    const claims = (await copy.store.claims({ status: 'standing' }))
      .map(({ rule, target }) => `${rule} ${target}`)
      .sort();
    await copy.close();
    return { decided, sent, claims };
  }
});

describe('superseded plans keep what a person is shown of them, and what waiting plans share is stored once and goes with the last of them', () => {
  const DEVICES = ['d1', 'd2', 'd3'];
  let on: OnPlatform;
  let db: SqliteDb;
  beforeEach(() => {
    db = freshDatabase();
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

  describe('an intent that a plan has in several contents', () => {
    it('is stored once, and goes with the last content that has it, after the plan has waited', async () => {
      const first = await planWith('d1', 'd2');
      await planWith('d1', 'd2', 'd3');
      expect(rows()).toBe(3);
      expect((await on.store.planAt(first.id, first.digest))?.intents).toEqual(first.intents);
      const third = await planWith('d3');
      await manyRuns();
      expect(await on.store.dropPlanIntents()).toBe(0);
      expect(await plan(first.id)).toEqual(third);
      expect([rows(), (await on.store.planRevisions(first.id)).length]).toEqual([3, 2]);
      await on.approve(third);
      while ((await on.store.dropPlanIntents()) > 0);
      expect([rows(), await on.store.planRevisions(first.id)]).toEqual([0, []]);
      expect((await plan(first.id)).intents).toEqual(third.intents);
      expect(await on.store.tableDifferences()).toEqual([]);
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

  describe('a superseded plan after many runs', () => {
    it('keeps its digest, its size and the difference to its successor, and says that its actions are not kept', async () => {
      const first = await planWith('d1', 'd2');
      const second = await planWith('d3');
      const before = await plan(first.id);
      const difference = await differenceFrom(on.store, before);
      expect(difference).toEqual({ added: 1, removed: 2, changed: 0 });
      const [line] = (await on.store.planLines({ status: 'superseded' }, { limit: 5 })).slice(-1);
      const counts = plannedCounts(before);
      await manyRuns();
      await planWith('d1');
      while ((await on.store.dropPlanIntents()) > 0);
      const after = await plan(first.id);
      expect(after).toEqual({ ...before, intents: [], dropped: { intents: 2, difference, counts } });
      expect(await differenceFrom(on.store, after)).toEqual(difference);
      expect((await on.store.planLines({}, { limit: 5 })).at(-1)).toEqual({ ...line, dropped: after.dropped });
      const context = { nowMs: on.clock.nowMs(), run: 1, live: [], difference, revisions: [] };
      const text = planText(after, context).replaceAll(/\s+/g, ' ');
      expect(text).toContain(': 2 actions,');
      expect(text).toContain(`plan ${second.id}: 1 added, 2 removed`);
      expect(titleOf(after)).toBe(titleOf(before));
      expect(text).not.toContain('┌');
      expect(text).toContain('It was superseded: its 2 actions are no longer kept');
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
});
