// http: plans: reading them, and an operator's yes or no. The token's name is recorded. In: requests. Out: the current
// plan. It applies nothing itself: the ports of deps do.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { episodesOf, hasProgress, type Plan, type PlanStatus } from '../../domain/plan.ts';
import type { HttpDeps, PlanAnswer } from '../deps.ts';
import { limitField, readBody, readQuery } from '../input.ts';
import { type Ctx, json, param, type Route } from '../route.ts';

const STATUSES = [
  'pending',
  'approved',
  'applying',
  'applied',
  'interrupted',
  'rejected',
  'superseded',
  'expired',
] as const satisfies readonly PlanStatus[];

const listQuery = z.strictObject({ status: z.enum(STATUSES).optional(), limit: limitField });
const decideBody = z.strictObject({ reason: z.string().trim().min(1).max(1_000).optional() });
const applyBody = z.strictObject({});

export function planRoutes(deps: HttpDeps): Route[] {
  const { reader, views, plans } = deps;
  const shown = async (plan: Plan) => {
    return views.plan(plan, hasProgress(plan) ? await reader.intents({ liveFor: episodesOf(plan) }) : []);
  };
  return [
    {
      method: 'GET',
      path: '/api/plans',
      scope: 'read',
      handle: async (context) => {
        const { status, limit } = readQuery(context, listQuery);
        const found = await reader.plans(status === undefined ? {} : { status }, limit);
        return json({ plans: await Promise.all(found.map(shown)) });
      },
    },
    {
      method: 'GET',
      path: '/api/plans/:id',
      scope: 'read',
      handle: async (context) => {
        const id = param(context, 'id');
        const plan = await reader.plan(id);
        if (!plan) throw new AppError('not_found', `there is no plan \`${id}\``);
        return json(await shown(plan));
      },
    },
    deciding('approve', async (context) => {
      const { reason } = await readBody(context, decideBody);
      return plans.approve(param(context, 'id'), context.var.caller.name, reason);
    }),
    deciding('reject', async (context) => {
      const { reason } = await readBody(context, decideBody);
      return plans.reject(param(context, 'id'), context.var.caller.name, reason);
    }),
    deciding('apply', async (context) => {
      await readBody(context, applyBody);
      return plans.apply(param(context, 'id'), context.var.caller.name);
    }),
  ];

  function deciding(verb: 'approve' | 'reject' | 'apply', decide: (context: Ctx) => Promise<PlanAnswer>): Route {
    return {
      method: 'POST',
      path: `/api/plans/:id/${verb}`,
      scope: 'approve',
      handle: async (context) => {
        const { plan, applied } = await decide(context);
        const { intents, refused } = applied ?? { intents: [], refused: [] };
        return json({
          ...(await shown(plan)),
          applied: applied ? { intents: intents.map(views.intent), refused } : null,
        });
      },
    };
  }
}
