// operator: a person approves or rejects a plan, or approves a part of it, recorded with who and why. It changes nothing outside:
// applying does. In: a plan that waits. Out: the plans after it, committed in one transaction.
import { chooseFrom, splitPlan } from '../approve/parts.ts';
import { decidePlan, demandAudited } from '../approve/plans.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Plan, PlanSelection } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { Engine } from '../run/engine.ts';
import type { Freezing } from '../run/freeze.ts';
import { breakGlass } from './break-glass.ts';
import { filledReason } from './filled.ts';
import { demandInPlace, foundPlan } from './find-plan.ts';

type Answering = Pick<Engine, 'clock'> & Freezing & { store: PlanStore };

/** Errors: AppError `not_found`, `usage` for an ambiguous prefix or an empty reason, `conflict` when it no longer waits. */
export async function answerPlan(
  engine: Answering,
  planId: string,
  answer: 'approve' | 'reject',
  by: string,
  given: string | undefined,
  glass = false,
): Promise<Plan> {
  const { store } = engine;
  const reason = filledReason(given);
  const plan = await foundPlan(store, planId);
  await demandInPlace(store, plan);
  const decided = decidePlan(plan, answer === 'approve' ? 'approved' : 'rejected', by, reason, engine.clock.nowMs());
  const broken = glass ? breakGlass(engine, decided, by, reason) : undefined;
  if (answer === 'approve') demandAudited(plan, 'plan.sealed', await store.auditedDigest('plan.sealed', plan.id));
  const kind = answer === 'approve' ? 'plan.approved' : 'plan.rejected';
  const notes: AuditNote[] = [{ kind, body: { plan: plan.id, digest: plan.digest, by, reason } }];
  if (broken) notes.push(broken.note);
  const answered = broken?.plan ?? decided;
  await store.changePlan(answered, [], notes, 'pending');
  return answered;
}

/** The plan that is approved, and the one in which the rest waits; no rest when all of it was chosen. */
export interface ApprovedPart {
  plan: Plan;
  rest: Plan | undefined;
}

/** Errors: those of `answerPlan`, and AppError `usage` when the plan does not have what is named. */
export async function approvePart(
  engine: Answering & Pick<Engine, 'ids'>,
  planId: string,
  selection: PlanSelection,
  by: string,
  given: string | undefined,
  glass = false,
): Promise<ApprovedPart> {
  const { store, clock, ids } = engine;
  const reason = filledReason(given);
  const plan = await foundPlan(store, planId);
  await demandInPlace(store, plan);
  decidePlan(plan, 'approved', by, reason, clock.nowMs());
  const chosen = chooseFrom(plan, selection);
  if (chosen.rest.length === 0)
    return { plan: await answerPlan(engine, plan.id, 'approve', by, reason, glass), rest: undefined };
  demandAudited(plan, 'plan.sealed', await store.auditedDigest('plan.sealed', plan.id));
  const answer = { by, reason, nowMs: clock.nowMs() };
  const { part, rest, notes } = splitPlan(plan, chosen, [ids.next(), ids.next()], answer);
  const broken = glass ? breakGlass(engine, part, by, reason) : undefined;
  const approved = broken?.plan ?? part;
  await store.replacePlans([plan.id], [approved, rest], broken ? [...notes, broken.note] : notes);
  return { plan: approved, rest };
}
