// The daemon's part of answering plans for the endpoint: each answer in its turn among runs and other commands. In: the engine, the queue. Out: the
// plan as answered, and what applying it did. A daemon of mode `approve` or `enforce` applies an approved plan at once, unless a stop or a change
// window holds all of it.
import { isLive } from '../domain/mode.ts';
import type { HttpDeps, PlanAnswer } from '../http/index.ts';
import { answerPlan, approvePart } from '../operator/answer-plan.ts';
import { applyPlan } from '../operator/apply-plan.ts';
import { freezeOf, isHeldWhole } from '../operator/break-glass.ts';
import type { Engine } from '../run/engine.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import type { UnderWay } from './under-way.ts';

export function planPorts(engine: Engine, queue: RunQueue, underWay: UnderWay): HttpDeps['plans'] {
  const apply = async (planId: string, by: string, glass?: { reason: string }): Promise<PlanAnswer> => {
    underWay.beginPlan(planId);
    try {
      const { plan, ...applied } = await applyPlan(engine, planId, by, glass);
      return { plan, applied };
    } finally {
      underWay.end();
    }
  };
  return {
    approve: (planId, by, reason, selection, glass) =>
      queue.inTurn('operator', by, async () => {
        const { plan, rest } = await approvePart(engine, planId, selection, by, reason, glass);
        if (glass) void engine.afterwards?.();
        const isStopped = (await engine.store.stop()) !== undefined;
        const freeze = (await freezeOf(engine, plan))();
        const isHeld = !isLive(engine.daemonMode) || isStopped || isHeldWhole(engine, plan, freeze);
        return { rest, ...(isHeld ? { plan } : await apply(plan.id, by)) };
      }),
    reject: async (planId, by, reason) => ({
      plan: await queue.inTurn('operator', by, () => answerPlan(engine, planId, 'reject', by, reason)),
    }),
    apply: (planId, by, glass) => queue.inTurn('operator', by, () => apply(planId, by, glass)),
  };
}
