// http: plans: reading them, and an operator's yes or no. The token's name is recorded. In: requests. Out: the current
// plan. It applies nothing itself: the ports of deps do.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { episodesOf, hasProgress, PLAN_STATUSES, type Plan } from '../../domain/plan.ts';
import { differenceFrom } from '../../domain/plan-content.ts';
import type { HttpDeps, PlanAnswer } from '../deps.ts';
import { limitField, nameField, readBody, readQuery } from '../input.ts';
import { type Ctx, json, param, type Route } from '../route.ts';

const listQuery = z.strictObject({ status: z.enum(PLAN_STATUSES).optional(), limit: limitField });
const reason = z.string().trim().min(1).max(1_000).optional();
const decideBody = z.strictObject({ reason });
const names = z.array(nameField).max(10_000).default([]);
const approveBody = z.strictObject({ reason, rules: names, only: names, except: names });
const applyBody = z.strictObject({});

export function planRoutes(deps: HttpDeps): Route[] {
  const { reader, views, plans } = deps;
  const liveOf = async (plan: Plan) => (hasProgress(plan) ? reader.intents({ liveFor: episodesOf(plan) }) : []);
  const listed = async (plan: Plan) => views.plan(plan, await liveOf(plan));
  const shown = async (plan: Plan) => views.plan(plan, await liveOf(plan), await differenceFrom(reader, plan));
  return [
    {
      method: 'GET',
      path: '/api/plans',
      scope: 'read',
      handle: async (context) => {
        const { status, limit } = readQuery(context, listQuery);
        const found = await reader.plans(status === undefined ? {} : { status }, limit);
        return json({ plans: await Promise.all(found.map(listed)) });
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
      const { reason, ...selection } = await readBody(context, approveBody);
      return plans.approve(param(context, 'id'), context.var.caller.name, reason, selection);
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
        const { plan, rest, applied } = await decide(context);
        return json({
          ...(await shown(plan)),
          ...(verb === 'approve' && { rest: rest ? await shown(rest) : null }),
          applied: applied ? { ...applied, intents: applied.intents.map(views.intent) } : null,
        });
      },
    };
  }
}
