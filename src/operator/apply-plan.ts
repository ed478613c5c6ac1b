// operator: applies an approved plan: exactly it or less. Capped by the rules' modes and the daemon's, not by the mode of the
// run that made it. A target whose record fields drifted is refused with the field named, and the rest goes on.
import { carryOut } from '../act/carry-out.ts';
import { openAgain, openIntent } from '../act/gate.ts';
import { demandAudited, demandInTime } from '../approve/plans.ts';
import { AppError } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import { isAtLeast, leastMode, type Mode } from '../domain/mode.ts';
import { stopText } from '../domain/operator.ts';
import type { Plan, PlannedIntent } from '../domain/plan.ts';
import type { Rule } from '../domain/rule.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import { type ApplyView, applyView, failedBefore, refusalOf } from './plan-refusal.ts';

export interface Applied {
  plan: Plan;
  intents: Intent[];
  /** Planned intents that were not even begun, with why. */
  refused: { action: string; target: string; reason: string }[];
}

/** Errors: AppError `not_found`, `conflict` when the plan is not approved, is too old, or nothing may be done. Single use. */
export async function applyPlan(engine: Engine, planId: string, by: string): Promise<Applied> {
  const plan = await applicablePlan(engine, planId);
  const run = await engine.store.run(plan.runId);
  if (!run) throw new AppError('not_found', `the run of plan ${plan.id} is not in this database`);
  const own = await rulesOfRun(engine, { rules: undefined });
  const opened = openIntents(engine, plan, own.rules, await applyView(engine, plan.intents));
  const applying: Plan = { ...plan, status: 'applying' };
  const ids = [...opened.fresh, ...opened.again].map(({ id }) => id);
  await engine.store.changePlan(applying, opened.fresh, [
    { kind: 'plan.applying', body: { plan: plan.id, digest: plan.digest, by, intents: ids, refused: opened.refused } },
  ]);
  const applied: Plan = { ...applying, status: 'applied' };
  try {
    await engine.store.reopen({ intents: opened.again, notes: [] });
    await carryOut(await actContext(engine, run, own, engine.daemonMode), [...opened.fresh, ...opened.again]);
  } finally {
    // Also when it broke off: it is used up, and what was not begun comes back in the next plan.
    await engine.store.changePlan(applied, [], [{ kind: 'plan.applied', body: { plan: plan.id } }]);
    await engine.afterwards?.();
  }
  return { plan: applied, intents: await engine.store.intents({ ids }), refused: opened.refused };
}

async function applicablePlan(engine: Engine, planId: string): Promise<Plan> {
  await engine.store.expirePlans();
  const plan = await engine.store.plan(planId);
  if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\``);
  demandInTime(plan, engine.clock.nowMs());
  if (plan.status !== 'approved') {
    throw new AppError('conflict', `plan ${plan.id} is ${plan.status}: only an approved plan can be applied`);
  }
  for (const kind of ['plan.sealed', 'plan.approved'] as const)
    demandAudited(plan, kind, await engine.store.auditedDigest(kind, plan.id));
  const stop = await engine.store.stop();
  if (stop) throw new AppError('conflict', `${stopText(stop)}; plan ${plan.id} stays approved: \`resume\` comes first`);
  if (!isAtLeast(engine.daemonMode, 'approve')) {
    const text = `the daemon has mode ${engine.daemonMode}, in which nothing is changed: plan ${plan.id} stays approved`;
    throw new AppError('conflict', text);
  }
  return plan;
}

interface OpenedIntents {
  fresh: Intent[];
  /** Live ones that failed before, and are tried again. */
  again: Intent[];
  refused: Applied['refused'];
}

function openIntents(engine: Engine, plan: Plan, active: readonly Rule[], view: ApplyView): OpenedIntents {
  const rules = new Map(active.map((rule) => [rule.id, rule]));
  const opened: OpenedIntents = { fresh: [], again: [], refused: [] };
  for (const planned of plan.intents) {
    const { action, target, basis, settings, effect } = planned;
    const reason = refusalOf(planned, rules, view);
    const failed = failedBefore(planned, view);
    const mode = leastMode(...basis.map((item) => rules.get(item.rule)?.mode ?? 'off'), engine.daemonMode);
    if (reason) opened.refused.push({ action, target, reason });
    else if (failed) opened.again.push(openAgain({ ...failed, basis, settings, effect, approved: true }, mode));
    else opened.fresh.push(intentOf(engine, plan, planned, mode));
  }
  return opened;
}

function intentOf(engine: Engine, plan: Plan, planned: PlannedIntent, mode: Mode): Intent {
  const { action, target, settings, undo, basis, effect } = planned;
  const opening = {
    id: engine.ids.next(),
    runId: plan.runId,
    planId: plan.id,
    approved: true,
    nowMs: engine.clock.nowMs(),
  };
  return openIntent({ action, target, settings, undo, basis, effect }, mode, opening);
}
