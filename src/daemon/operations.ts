// What a person commands that calls something, or changes the basis of a run: by name, so that it can be asked for in one process and done in
// another. In: the engine, what the person said. Out: what was done. INVARIANT: each has its turn among runs and other commands (`Turns`).
import { isLive } from '../domain/mode.ts';
import type { HttpDeps, OperatorPort, PlanAnswer } from '../http/index.ts';
import { answerPlan, approvePart } from '../operator/answer-plan.ts';
import { applyPlan } from '../operator/apply-plan.ts';
import { freezeOf, isHeldWhole } from '../operator/break-glass.ts';
import { exempt } from '../operator/exempt.ts';
import { releaseClaims } from '../operator/release-claims.ts';
import { planRelease } from '../operator/release-rule.ts';
import { resolveIntent } from '../operator/resolve-intent.ts';
import type { Engine } from '../run/engine.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import type { UnderWay } from './under-way.ts';

/** What an operation is done with. */
export interface Acting {
  engine: Engine;
  underWay: Pick<UnderWay, 'beginPlan' | 'end'>;
}

type Plans = HttpDeps['plans'];

export const OPERATIONS = {
  approve: async ({ engine, underWay }: Acting, ...said: Parameters<Plans['approve']>): Promise<PlanAnswer> => {
    const [planId, by, reason, selection, glass] = said;
    const { plan, rest } = await approvePart(engine, planId, selection, by, reason, glass);
    if (glass) void engine.afterwards?.();
    const isStopped = (await engine.store.stop()) !== undefined;
    const freeze = (await freezeOf(engine, plan))();
    const isHeld = !isLive(engine.daemonMode) || isStopped || isHeldWhole(engine, plan, freeze);
    return { rest, ...(isHeld ? { plan } : await applied({ engine, underWay }, plan.id, by)) };
  },
  reject: async ({ engine }: Acting, ...[planId, by, reason]: Parameters<Plans['reject']>): Promise<PlanAnswer> => ({
    plan: await answerPlan(engine, planId, 'reject', by, reason),
  }),
  apply: (acting: Acting, ...said: Parameters<Plans['apply']>) => applied(acting, ...said),
  exempt: ({ engine }: Acting, ...said: Parameters<OperatorPort['exempt']>) => exempt(engine, ...said),
  resolve: ({ engine }: Acting, ...said: Parameters<OperatorPort['resolve']>) => resolveIntent(engine, ...said),
  release: ({ engine }: Acting, ...said: Parameters<OperatorPort['release']>) => releaseClaims(engine, ...said),
  releaseRule: ({ engine }: Acting, ...said: Parameters<OperatorPort['releaseRule']>) => planRelease(engine, ...said),
};

export type Operation = keyof typeof OPERATIONS;

export type Said<Name extends Operation> =
  Parameters<(typeof OPERATIONS)[Name]> extends [Acting, ...infer Rest] ? Rest : never;
export type Done<Name extends Operation> = Awaited<ReturnType<(typeof OPERATIONS)[Name]>>;

/** Does an operation in its turn. Errors: those of the operation; AppError `busy` when too much waits, `stopped` when the process ends. */
export interface Turns {
  operate<Name extends Operation>(name: Name, by: string, ...said: Said<Name>): Promise<Done<Name>>;
}

/** Errors: those of the operation. */
export function perform<Name extends Operation>(acting: Acting, name: Name, said: Said<Name>): Promise<Done<Name>> {
  const operation = OPERATIONS[name] as unknown as (acting: Acting, ...said: Said<Name>) => Promise<Done<Name>>;
  return operation(acting, ...said);
}

/** Turns in this process. */
export function turnsIn(queue: Pick<RunQueue, 'inTurn'>, acting: Acting): Turns {
  return {
    operate: (name, by, ...said) => queue.inTurn('operator', by, () => perform(acting, name, said)),
  };
}

async function applied({ engine, underWay }: Acting, ...said: Parameters<Plans['apply']>): Promise<PlanAnswer> {
  const [planId, by, glass] = said;
  underWay.beginPlan(planId);
  try {
    const { plan, ...rest } = await applyPlan(engine, planId, by, glass);
    return { plan, applied: rest };
  } finally {
    underWay.end();
  }
}
