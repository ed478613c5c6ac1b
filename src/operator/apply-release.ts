// operator: applies an approved release of a rule's claims: several targets at once, with the checks, the gate and the commits of a release
// of one target, within the ceilings of the plan's run. In: the undos that are left. Out: what came of each.
import type { ActContext } from '../act/context.ts';
import { isOpen } from '../act/gate.ts';
import { sideBySide } from '../act/side-by-side.ts';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import { stopText } from '../domain/operator.ts';
import type { Plan, PlannedIntent } from '../domain/plan.ts';
import type { Engine } from '../run/engine.ts';
import { releasePlanned } from './release-target.ts';

export interface Applied {
  plan: Plan;
  intents: Intent[];
  /** Planned intents that were not begun, each with the reason. */
  refused: { action: string; target: string; reason: string }[];
  /** Undos that needed no call: their claims have ended. */
  needless?: { action: string; target: string; reason: string }[];
}

/** Errors: AppError `conflict` when nothing may be called now, then the plan keeps its status; those that end a run. */
export async function applyRelease(
  engine: Engine,
  context: ActContext,
  plan: Plan,
  rest: readonly PlannedIntent[],
  by: string,
): Promise<Applied> {
  const { store, signal } = engine;
  const stop = await store.stop();
  if (stop)
    throw new AppError('conflict', `${stopText(stop)}; plan ${plan.id} stays ${plan.status}: \`resume\` comes first`);
  demandOpen(engine, plan);
  const applying: Plan = { ...plan, status: 'applying' };
  const body = { plan: plan.id, digest: plan.digest, by, intents: [], refused: [] };
  await store.changePlan(applying, [], [{ kind: 'plan.applying', body }], plan.status);
  const applied = { intents: [] as Intent[], refused: [] as Applied['refused'], needless: [] as Applied['refused'] };
  let ended: Plan = { ...applying, status: 'interrupted' };
  try {
    let begun = 0;
    await sideBySide(context, rest, async (planned, done) => {
      if (signal.aborted) return;
      begun += 1;
      const { action, target } = planned;
      context.progress?.({ phase: 'acting', what: `${action} ${target}`, done, total: rest.length });
      await releaseOne(engine, context, plan, planned, by, applied);
    });
    const isWhole = begun === rest.length && (!signal.aborted || applied.intents.every(isSettled));
    if (isWhole) ended = { ...applying, status: 'applied' };
  } finally {
    const kind = ended.status === 'applied' ? 'plan.applied' : 'plan.interrupted';
    await store.changePlan(ended, [], [{ kind, body: { plan: plan.id } }], 'applying');
    await engine.afterwards?.();
  }
  return { plan: ended, ...applied };
}

function isSettled({ status }: Intent): boolean {
  return status === 'settled';
}

/** One target that is refused or cannot be read does not keep the others. */
const OF_ONE_TARGET: ReadonlySet<ErrorCode> = new Set(['conflict', 'api_unreachable', 'api_answer', 'api_forbidden']);

async function releaseOne(
  engine: Engine,
  context: ActContext,
  plan: Plan,
  planned: PlannedIntent,
  by: string,
  applied: Required<Omit<Applied, 'plan'>>,
): Promise<void> {
  const { action, target } = planned;
  try {
    const who = { by, reason: plan.decidedReason ?? `plan ${plan.id}` };
    const { intent, text } = await releasePlanned(engine, context, planned, plan.id, who);
    if (intent) applied.intents.push(intent);
    else applied.needless.push({ action, target, reason: text });
  } catch (error) {
    if (!(error instanceof AppError && OF_ONE_TARGET.has(error.code))) throw error;
    applied.refused.push({ action, target, reason: error.message });
  }
}

/** Errors: AppError `conflict` in a mode in which nothing is changed: the plan keeps its status. */
export function demandOpen({ daemonMode }: Engine, plan: Plan): void {
  if (isOpen(daemonMode)) return;
  const text = `the daemon has mode ${daemonMode}, in which nothing is changed: plan ${plan.id} stays ${plan.status}`;
  throw new AppError('conflict', text);
}
