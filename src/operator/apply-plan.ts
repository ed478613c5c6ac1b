// operator: applies an approved plan: exactly its intents or fewer; an interrupted one, the rest of them. Capped by the rules' and the daemon's modes, not by the mode of
// the run that made it. A target whose record fields drifted is refused by field, and the other intents go on.
import { carryOut } from '../act/carry-out.ts';
import { type ActContext, noSuchAction } from '../act/context.ts';
import { openAgain, openIntent, reopened } from '../act/gate.ts';
import { resolveLeftovers } from '../act/resolve.ts';
import { demandAudited, demandInTime } from '../approve/plans.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Ask } from '../domain/check.ts';
import { AppError } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import { episodesOf, type Plan, type PlannedIntent, releasedRule, restOf } from '../domain/plan.ts';
import type { Engine } from '../run/engine.ts';
import { type Applied, applyRelease, demandOpen } from './apply-release.ts';
import { breakGlass } from './break-glass.ts';
import { demandInPlace, foundPlan } from './find-plan.ts';
import { planContext } from './plan-context.ts';
import { type FactsOfPlanned, planFacts } from './plan-facts.ts';

export type { Applied } from './apply-release.ts';

/**
 * `glass`: why it may be done in a change window. Errors: AppError `not_found`, `conflict` when the plan is not approved, is too old, or nothing may
 * be done. Single use, unless interrupted; one of which a change window holds a part is interrupted.
 */
export async function applyPlan(
  engine: Engine,
  planId: string,
  by: string,
  glass?: { reason: string },
): Promise<Applied> {
  const found = await applicablePlan(engine, planId);
  const plan = glass ? await letThrough(engine, found, by, glass.reason) : found;
  const context = await planContext(engine, plan);
  const rest = await restToApply(engine, context, plan);
  if (releasedRule(plan) !== undefined) return applyRelease(engine, context, plan, rest, by);
  const opened = openIntents(engine, plan, rest, context.ask, await planFacts(engine, rest, context));
  const applying: Plan = { ...plan, status: 'applying' };
  const ids = [...opened.fresh, ...opened.again].map(({ id }) => id);
  const notes: AuditNote[] = [
    { kind: 'plan.applying', body: { plan: plan.id, digest: plan.digest, by, intents: ids, refused: opened.refused } },
  ];
  await engine.store.changePlan(applying, opened.fresh, notes, plan.status);
  let ended: Plan = { ...applying, status: 'interrupted' };
  try {
    await engine.store.reopen(reopened(plan.runId, opened.again));
    await carryOut(context, [...opened.fresh, ...opened.again]);
    if (await isWhole(engine, context, opened, ids)) ended = { ...applying, status: 'applied' };
  } finally {
    const kind = ended.status === 'applied' ? 'plan.applied' : 'plan.interrupted';
    await engine.store.changePlan(ended, [], [{ kind, body: { plan: plan.id } }], 'applying');
    await engine.afterwards?.();
  }
  return { plan: ended, intents: await engine.store.intents({ ids }), refused: opened.refused };
}

/** The entry is committed, and people are alerted, before anything is done. */
async function letThrough(engine: Engine, was: Plan, by: string, reason: string): Promise<Plan> {
  const { plan, note } = breakGlass(engine, was, by, reason);
  await engine.store.changePlan(plan, [], [note], was.status);
  void engine.afterwards?.();
  return plan;
}

/** What a change window held, before or while it was applied, is done when it is applied again after the window. */
async function isWhole(
  { signal, store }: Engine,
  { freezeNow }: ActContext,
  { frozen }: OpenedIntents,
  ids: string[],
): Promise<boolean> {
  if (frozen !== undefined) return false;
  const intents = await store.intents({ ids });
  if (freezeNow() !== undefined && intents.some(({ status }) => status === 'withdrawn')) return false;
  return !signal.aborted || intents.every(isSettled);
}

function isSettled({ status }: Intent): boolean {
  return status === 'settled';
}

/** INVARIANT: what an interrupted attempt left is settled first: what was sent is in doubt, and what was not is begun anew. */
async function restToApply(engine: Engine, context: ActContext, plan: Plan): Promise<PlannedIntent[]> {
  if (plan.status !== 'interrupted') return plan.intents;
  await resolveLeftovers(context);
  return restOf(plan, await engine.store.intents({ liveFor: episodesOf(plan) }));
}

async function applicablePlan(engine: Engine, planId: string): Promise<Plan> {
  const plan = await foundPlan(engine.store, planId);
  await demandInPlace(engine.store, plan);
  demandInTime(plan, engine.clock.nowMs());
  if (plan.status !== 'approved' && plan.status !== 'interrupted') {
    const only = 'only an approved or interrupted plan can be applied';
    throw new AppError('conflict', `plan ${plan.id} is ${plan.status}: ${only}`);
  }
  for (const kind of ['plan.sealed', 'plan.approved'] as const)
    demandAudited(plan, kind, await engine.store.auditedDigest(kind, plan.id));
  return plan;
}

interface OpenedIntents {
  fresh: Intent[];
  /** Live intents that failed before, and are tried again. */
  again: Intent[];
  refused: Applied['refused'];
  /** Why a change window holds some of them. */
  frozen: string | undefined;
}

/** Errors: AppError `conflict` when nothing may be called now; the plan keeps its status. */
function openIntents(
  engine: Engine,
  plan: Plan,
  rest: readonly PlannedIntent[],
  ask: Ask,
  factsOf: FactsOfPlanned,
): OpenedIntents {
  const opened: OpenedIntents = { fresh: [], again: [], refused: [], frozen: undefined };
  for (const planned of rest) {
    const { action, target, basis, settings, effect } = planned;
    if (!engine.actions.has(action)) {
      opened.refused.push({ action, target, reason: noSuchAction(planned) });
      continue;
    }
    const facts = factsOf(planned);
    const refused = ask('applying', facts);
    if (refused?.check === 'stopped')
      throw new AppError(
        'conflict',
        `${refused.reasonText}; plan ${plan.id} stays ${plan.status}: \`resume\` comes first`,
      );
    if (refused?.check === 'frozen') opened.frozen = refused.reasonText;
    const failed = facts.basis.find(({ earlier }) => earlier?.outcome === 'failed')?.earlier;
    const mode = leastMode(...facts.basis.map(({ ruleNow }) => ruleNow?.mode ?? 'off'), engine.daemonMode);
    if (refused) opened.refused.push({ action, target, reason: refused.reasonText });
    else if (failed) opened.again.push(openAgain({ ...failed, basis, settings, effect, approved: true }, mode));
    else opened.fresh.push(intentOf(engine, plan, planned, mode));
  }
  demandOpen(engine, plan);
  if (opened.frozen !== undefined && opened.fresh.length + opened.again.length === 0)
    throw new AppError('conflict', frozenText(opened.frozen, plan));
  return opened;
}

function frozenText(reason: string, { id, status }: Plan): string {
  return `${reason}; plan ${id} stays ${status}: apply it after the window, or with \`--break-glass --reason TEXT\``;
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
