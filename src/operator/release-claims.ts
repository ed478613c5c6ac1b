// operator: a person releases a target: what Trustward did to it is undone now. In: a target with open claims. Out: the result for each
// action that is in force on it.
import type { ActContext } from '../act/context.ts';
import { RunCounts } from '../act/counts.ts';
import { AppError } from '../domain/errors.ts';
import type { Released } from '../domain/operator.ts';
import { type ActionOnTarget, isSameTarget } from '../domain/target-key.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import { claimedTarget } from './claimed-target.ts';
import { checked, type Operator } from './commands.ts';
import { Release, storedOn } from './release-target.ts';

/**
 * `about`: any name of the target, or a claim on it, since two targets may have the same text.
 * `counts`: the counts of the whole command; several targets together stay within the ceilings of one run.
 * Errors: AppError `not_found` (no open claim), `usage` (the name may mean several), `conflict` (stopped, or an undo not resolved yet), and those of reading the API.
 */
export async function releaseClaims(
  engine: Engine,
  about: string | ActionOnTarget,
  operator: Operator,
  counts: RunCounts = new RunCounts(undefined),
): Promise<Released[]> {
  const who = checked(operator);
  const { store } = engine;
  const target = typeof about === 'string' ? await claimedTarget(store, about) : about.target;
  const onText = await store.openClaimsOn(target);
  const open =
    typeof about === 'string' ? onText : onText.filter((claim) => isSameTarget(claim, about, engine.actions));
  const context = { ...(await releaseContext(engine)), counts };
  const stored = await storedOn(engine, target);
  const released: Released[] = [];
  for (const action of new Set(open.map((claim) => claim.action))) {
    const claims = open.filter((claim) => claim.action === action);
    released.push(await new Release(engine, context, stored, action, claims, who).perform());
  }
  return released;
}

/** For the undos of one command or one plan. Errors: AppError `not_found` when there is no run yet. */
async function releaseContext(engine: Engine): Promise<ActContext> {
  const run = await engine.store.latestRun();
  if (!run) throw new AppError('not_found', 'there is no run yet: nothing can have been done');
  return actContext(engine, run, await rulesOfRun(engine, { rules: undefined }), engine.daemonMode);
}
