// operator: a person approves or rejects a plan, recorded with who and why. It changes nothing outside: applying does.
import { decidePlan, demandAudited } from '../approve/plans.ts';
import { AppError } from '../domain/errors.ts';
import type { Plan } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { Engine } from '../run/engine.ts';

/** Errors: AppError `not_found`, `usage` for an ambiguous prefix, `conflict` when it no longer waits. */
export async function answerPlan(
  engine: Pick<Engine, 'clock'> & { store: PlanStore },
  planId: string,
  answer: 'approve' | 'reject',
  by: string,
  reason: string | undefined,
): Promise<Plan> {
  await engine.store.expirePlans();
  const plan = await engine.store.plan(planId);
  if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\``);
  const decided = decidePlan(plan, answer === 'approve' ? 'approved' : 'rejected', by, reason, engine.clock.nowMs());
  if (answer === 'approve')
    demandAudited(plan, 'plan.sealed', await engine.store.auditedDigest('plan.sealed', plan.id));
  const kind = answer === 'approve' ? 'plan.approved' : 'plan.rejected';
  await engine.store.changePlan(decided, [], [{ kind, body: { plan: plan.id, digest: plan.digest, by, reason } }]);
  return decided;
}
