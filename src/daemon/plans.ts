// The daemon's part of plans, for the HTTP endpoint: each answer waits for its turn among the runs, and an approval is applied at once in a
// daemon of mode `approve` or `enforce`. In: the engine, the queue. Out: the port.
import { isLive } from '../domain/mode.ts';
import type { PlanSelection } from '../domain/plan.ts';
import type { HttpDeps, PlanAnswer } from '../http/index.ts';
import { answerPlan, approvePart } from '../operator/answer-plan.ts';
import { applyPlan } from '../operator/apply-plan.ts';
import type { Engine } from '../run/engine.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import type { UnderWay } from './under-way.ts';

export function plansPort(engine: Engine, queue: RunQueue, underWay: UnderWay): HttpDeps['plans'] {
  const apply = async (planId: string, by: string): Promise<PlanAnswer> => {
    underWay.beginPlan(planId);
    try {
      const { plan, ...applied } = await applyPlan(engine, planId, by);
      return { plan, applied };
    } finally {
      underWay.end();
    }
  };
  const approve = async (
    planId: string,
    by: string,
    reason: string | undefined,
    part: PlanSelection,
  ): Promise<PlanAnswer> => {
    const { plan, rest } = await approvePart(engine, planId, part, by, reason);
    const isHeld = !isLive(engine.daemonMode) || (await engine.store.stop()) !== undefined;
    return { rest, ...(isHeld ? { plan } : await apply(plan.id, by)) };
  };
  return {
    approve: (plan, by, reason, part) => queue.inTurn('operator', by, () => approve(plan, by, reason, part)),
    reject: async (plan, by, reason) => ({
      plan: await queue.inTurn('operator', by, () => answerPlan(engine, plan, 'reject', by, reason)),
    }),
    apply: (plan, by) => queue.inTurn('operator', by, () => apply(plan, by)),
  };
}
