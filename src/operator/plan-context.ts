// operator: what acting on an approved plan needs: the run that made it, all active rules, and the daemon's mode. In: the plan. Out: the
// context of its calls. It changes nothing.
import type { ActContext } from '../act/context.ts';
import { AppError } from '../domain/errors.ts';
import type { Plan } from '../domain/plan.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import { freezeOf } from './break-glass.ts';

/** Errors: AppError `not_found` when the plan's run is not in this database. */
export async function planContext(engine: Engine, plan: Plan): Promise<ActContext> {
  const run = await engine.store.run(plan.runId);
  if (!run) throw new AppError('not_found', `the run of plan ${plan.id} is not in this database`);
  const context = await actContext(engine, run, await rulesOfRun(engine, { rules: undefined }), engine.daemonMode);
  return { ...context, freezeNow: await freezeOf(engine, plan) };
}
