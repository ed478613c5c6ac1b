// http: the answer to a repeated request whose first answer was lost, since the process ended or the disk failed. In: what is stored of the
// first one. Out: the run that it began, or the plan that it answered, as they are now; undefined when it began nothing.
import type { KeyedRequest } from '../domain/kept-answer.ts';
import type { HttpDeps } from './deps.ts';
import type { Recover } from './idempotency.ts';
import { matchesPath } from './path.ts';
import type { Ctx } from './route.ts';
import { planAnswered } from './routes/plans.ts';
import { runAnswered } from './routes/runs.ts';

const VERBS = ['approve', 'reject', 'apply'] as const;
const STATUSES: Record<(typeof VERBS)[number], readonly string[]> = {
  approve: ['approved', 'applying', 'applied', 'interrupted'],
  reject: ['rejected'],
  apply: ['applied'],
};

export function lostAnswers(deps: HttpDeps): Recover {
  return async (context, kept) =>
    kept.run === undefined ? planOf(deps, context, kept) : runAnswered(deps, context, kept.run, isAwaited(context));
}

function isAwaited(context: Ctx): boolean {
  return (JSON.parse(context.var.bodyText ?? '') as { wait?: unknown }).wait === true;
}

/** Of another person's answer, or of a plan that this request left as it was, the route itself says what can be said. */
async function planOf(deps: HttpDeps, context: Ctx, kept: KeyedRequest): Promise<Response | undefined> {
  const { path } = context.req;
  const verb = VERBS.find((one) => matchesPath(`/api/plans/:id/${one}`, path));
  const id = decodeURIComponent(path.split('/')[3] ?? '');
  const plan = verb && (await deps.reader.plan(id));
  if (!plan || !STATUSES[verb].includes(plan.status)) return undefined;
  const isOurs = plan.decidedBy === context.var.caller.name && (plan.decidedAt ?? 0) >= kept.begunAt;
  if (verb !== 'apply' && !isOurs) return undefined;
  return planAnswered(deps, { plan }, verb === 'approve' ? { rest: null } : {});
}
