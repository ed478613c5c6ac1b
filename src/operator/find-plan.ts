// operator: the plan that a person names, and why it cannot be answered or applied when another one is in its place.
import { AppError } from '../domain/errors.ts';
import type { Plan } from '../domain/plan.ts';
import { differenceFrom, successorText } from '../domain/plan-content.ts';
import type { PlanStore } from '../domain/plan-store.ts';

/** Plans whose end has come are recorded as expired first. Errors: AppError `not_found`, `usage` for an ambiguous prefix. */
export async function foundPlan(store: Pick<PlanStore, 'plan' | 'expirePlans'>, planId: string): Promise<Plan> {
  await store.expirePlans();
  const plan = await store.plan(planId);
  if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\``);
  return plan;
}

/** Errors: AppError `conflict` that names the plans in its place, and how they differ. */
export async function demandInPlace(store: Pick<PlanStore, 'plan'>, plan: Plan): Promise<void> {
  const { id, status, supersededBy } = plan;
  if (status !== 'superseded' || !supersededBy) return;
  const text = successorText(supersededBy, await differenceFrom(store, plan));
  throw new AppError('conflict', `plan ${id} is superseded by ${text}`);
}
