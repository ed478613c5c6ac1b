// test: the same history, on each database, gives the same answer to every question, in the same order, and the same audit to the byte.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { addExemption, endExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { answerPlan, applyPlan } from '../../../src/engine/operate/plans.ts';
import { banRule } from '../../support/engine-on-platform.ts';
import { engineOnStore, type OnStore } from '../../support/engine-on-store.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { databases } from '../../support/stores.ts';

const RULES = [
  banRule({ id: 'a' }),
  banRule({ id: 'b', field: 'Other', mode: 'approve' }),
  banRule({ id: 'c', field: 'Other', mode: 'enforce', does: 'notify' }),
];
const ANA = { by: 'ana', reason: 'because' };
const DEVICES = ['d1', 'd2', 'd3', 'd\u0000\u{1f600}4'];
const device = fc.constantFrom(...DEVICES);

/** What happens, to every store alike. Its answer, or its error, is compared too. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('enforce' as const, 'dry-run' as const).map((mode) => ({ run: mode })) },
  { weight: 4, arbitrary: fc.record({ compromise: device, value: fc.constantFrom('TRUE', 'FALSE', null) }) },
  { weight: 4, arbitrary: fc.record({ other: device, value: fc.constantFrom('TRUE', 'FALSE') }) },
  { weight: 3, arbitrary: fc.constantFrom(1, 61_000, 3_700_000).map((pass) => ({ pass })) },
  { weight: 2, arbitrary: fc.constantFrom('approve' as const, 'reject' as const).map((answer) => ({ answer })) },
  { weight: 2, arbitrary: fc.constant({ apply: true as const }) },
  { weight: 2, arbitrary: fc.record({ fails: device, as: fc.constantFrom('failed', 'lost', 'hidden', 'late') }) },
  { weight: 1, arbitrary: device.map((exempt) => ({ exempt })) },
  { weight: 1, arbitrary: fc.constant({ endExemption: true as const }) },
  { weight: 1, arbitrary: fc.boolean().map((stop) => ({ stop })) },
  { weight: 1, arbitrary: fc.constant({ seal: true as const }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

async function happens(on: OnStore, what: Happening): Promise<unknown> {
  const { engine, store, platform, clock } = on;
  if ('run' in what) return on.run(what.run);
  if ('compromise' in what) return platform.compromised(what.compromise, what.value);
  if ('other' in what) return platform.patch(what.other, { MdmData: { Other: what.value } });
  if ('pass' in what) return clock.pass(what.pass);
  if ('fails' in what) return platform.answer(`S-${what.fails}`, what.as as 'failed');
  if ('seal' in what) return store.sealAudit();
  if ('stop' in what) return what.stop ? stopEverything(engine, ANA) : resumeEverything(engine, ANA);
  if ('exempt' in what) {
    const request = {
      subject: { kind: 'device', id: what.exempt },
      owner: 'ana',
      reason: 'known',
      until: '1h',
      unseen: true,
    };
    return addExemption(engine, request, 'ana');
  }
  if ('endExemption' in what) {
    const [one] = await store.exemptions(clock.nowMs());
    return one && endExemption(engine, one.id, ANA);
  }
  const [plan] = await store.plans({ status: 'apply' in what ? 'approved' : 'pending' }, 1);
  if (!plan) return undefined;
  if ('apply' in what) return applyPlan(engine, plan.id, 'ana');
  return answerPlan(engine, plan.id, what.answer, 'ana', what.answer === 'reject' ? 'no' : undefined);
}

describe('a history', () => {
  const tested = databases().filter(({ isMissing }) => !isMissing);
  beforeAll(async () => {
    for (const database of tested) await database.prepare();
  }, 180_000);
  afterAll(async () => {
    for (const database of tested) await database.end();
  });

  test.skipIf(tested.length < 2)(
    'is the same on each database, also in its audit',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { minLength: 8, maxLength: 24 }), async (all) => {
          const engines = await Promise.all(
            tested.map(async (database) => engineOnStore(await database.open(), RULES)),
          );
          for (const { platform } of engines) for (const id of DEVICES) platform.addDevice(id);
          for (const what of all) {
            const [first, ...others] = await Promise.all(engines.map((on) => outcomeOf(happens(on, what))));
            for (const other of others) expect(other, JSON.stringify(what)).toEqual(first);
          }
          const [first, ...others] = await Promise.all(engines.map((on) => everythingRead(on.store, on.clock.nowMs())));
          for (const other of others) expect(other).toEqual(first);
          for (const { store } of engines) {
            expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
            await store.demandIntact();
            await store.close();
          }
        }),
        { numRuns: Number(process.env.TRUSTWARD_HISTORIES ?? 12), endOnFailure: true },
      );
    },
    300_000,
  );
});

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => ({ value }),
    (error: Error & { code?: string }) => ({ code: error.code, message: error.message }),
  );
}
