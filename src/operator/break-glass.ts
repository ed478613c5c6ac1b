// operator: a person lets one plan through the change windows. In: the plan, who and why. Out: the plan with that, and its audit entry, for the
// transaction of the caller. INVARIANT: it lifts change windows only: every other check is asked as before.
import { demandAudited } from '../approve/plans.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { WindowNow } from '../domain/change-window.ts';
import { AppError } from '../domain/errors.ts';
import type { Plan } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { Engine } from '../run/engine.ts';
import { type Freezing, freezeNow } from '../run/freeze.ts';
import { filled } from './filled.ts';

export interface BrokenGlass {
  plan: Plan;
  note: AuditNote;
}

/** Errors: AppError `usage` without a reason, and where no change window is configured. */
export function breakGlass(engine: Freezing, plan: Plan, by: string, reason: string | undefined): BrokenGlass {
  if ((engine.settings.freeze ?? []).length === 0)
    throw new AppError(
      'usage',
      'no change window is configured (TRUSTWARD_FREEZE): apply the plan without break glass',
    );
  const why = filled(reason ?? '', 'reason', 'say why the plan may not wait, for the audit');
  const window = freezeNow(engine)?.text;
  return {
    plan: { ...plan, breakGlass: { at: engine.clock.nowMs(), by, reason: why } },
    note: { kind: 'plan.glass_broken', body: { plan: plan.id, digest: plan.digest, by, reason: why, window } },
  };
}

/**
 * The change window that holds the plan; undefined for one that a person let through. Errors: AppError `conflict` when the audit does not
 * have who let it through.
 */
export async function freezeOf(
  engine: Freezing & { store: Pick<PlanStore, 'auditedDigest'> },
  plan: Plan,
): Promise<() => WindowNow | undefined> {
  if (plan.breakGlass === undefined) return () => freezeNow(engine);
  demandAudited(plan, 'plan.glass_broken', await engine.store.auditedDigest('plan.glass_broken', plan.id));
  return () => undefined;
}

/** Whether a change window holds all of the plan: an undo and a notification are not held. */
export function isHeldWhole(
  { actions }: Pick<Engine, 'actions'>,
  { intents }: Pick<Plan, 'intents'>,
  freeze: WindowNow | undefined,
): boolean {
  return freeze !== undefined && intents.every(({ action, undo }) => !undo && actions.get(action)?.changesFleet);
}
