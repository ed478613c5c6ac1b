// http: plans: reading them, and an operator's yes or no. The token's name is recorded. In: requests. Out: the current
// plan. It applies nothing itself: the ports of deps do.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { PLAN_STATUSES, type Plan, SELECTION_MAX } from '../../domain/plan.ts';
import { differenceFrom, liveIntentsOf } from '../../domain/plan-content.ts';
import { nextOf } from '../../domain/record-reader.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps, PlanAnswer } from '../deps.ts';
import { givenText, idParam, nameField } from '../input.ts';
import { keyHeaders } from '../key-headers.ts';
import { operation } from '../operation.ts';
import { pageFields, pageSchema } from '../paging.ts';
import { json, type Route } from '../route.ts';

const listQuery = z.strictObject({ status: z.enum(PLAN_STATUSES).optional(), ...pageFields });
const reason = givenText.optional();
const decideBody = z.strictObject({ reason });
const names = z.array(nameField).max(SELECTION_MAX).default([]);
const breakGlass = z.boolean().default(false).describe('through the change windows; needs a reason, and scope `admin`');
const hasReason = (body: { breakGlass: boolean; reason?: string | undefined }) =>
  !body.breakGlass || body.reason !== undefined;
const REASON = { path: ['reason'], message: 'is required with breakGlass' };
const approveBody = z
  .strictObject({ reason, rules: names, only: names, except: names, breakGlass })
  .refine(hasReason, REASON);
const applyBody = z
  .strictObject({ reason, breakGlass })
  .refine(hasReason, REASON)
  .refine((body) => body.breakGlass || body.reason === undefined, {
    path: ['reason'],
    message: 'belongs to breakGlass',
  });

const refused = z.array(z.strictObject({ action: z.string(), target: z.string(), reason: z.string() }));

/** What applying a plan did; null when it was not applied. */
function appliedOf(intent: z.ZodType) {
  const needless = refused.optional().describe('undos that needed no call: their claims have ended');
  return z.strictObject({ intents: z.array(intent), refused, needless }).nullable();
}

export function planRoutes(deps: HttpDeps): Route[] {
  const { reader, views, schemas, plans } = deps;
  const listed = async (plan: Plan) => views.plan(plan, await liveIntentsOf(reader, plan));
  const shown = (plan: Plan) => planShown(deps, plan);
  const answered = (answer: PlanAnswer, more: object = {}) => planAnswered(deps, answer, more);
  const applied = appliedOf(schemas.intent);
  const answer = z.strictObject({ ...schemas.plan.shape, applied }).meta({ id: 'AnsweredPlan' });
  const rest = z.union([schemas.plan, z.null()]).describe('the plan of what was not chosen');
  const withRest = z.strictObject({ ...answer.shape, rest }).meta({ id: 'ApprovedPlan' });
  return [
    operation({
      method: 'GET',
      path: '/api/plans',
      scope: 'read',
      operationId: 'listPlans',
      tag: 'plans',
      summary: 'List plans',
      query: listQuery,
      answers: { 200: { description: 'a page of plans, the newest first', schema: pageSchema('plans', schemas.plan) } },
      handle: async (_context, { query: { status, limit, before } }) => {
        const found = await reader.plans({ ...(status && { status }), ...(before !== undefined && { before }) }, limit);
        return json({ plans: await Promise.all(found.map(listed)), next: nextOf(found, limit) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/plans/:id',
      scope: 'read',
      operationId: 'getPlan',
      tag: 'plans',
      summary: 'Read a plan',
      params: idParam('a plan'),
      answers: { 200: { description: 'the plan', schema: schemas.plan } },
      handle: async (_context, { params: { id } }) => {
        const plan = await reader.plan(id);
        if (!plan) throw new AppError('not_found', `there is no plan \`${id}\``);
        return json(await shown(plan));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/plans/:id/approve',
      scope: 'approve',
      operationId: 'approvePlan',
      tag: 'plans',
      summary: 'Approve a plan, or a part of it',
      params: idParam('a plan'),
      headers: keyHeaders,
      body: approveBody,
      answers: { 200: { description: 'the plan as approved, and the plan in which the rest waits', schema: withRest } },
      refusals: [409],
      handle: async (context, { params: { id }, body: { reason, breakGlass, ...selection } }) => {
        if (breakGlass) demandScope(context.var.caller, 'admin');
        const approved = await plans.approve(id, context.var.caller.name, reason, selection, breakGlass);
        return answered(approved, { rest: approved.rest ? await shown(approved.rest) : null });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/plans/:id/reject',
      scope: 'approve',
      operationId: 'rejectPlan',
      tag: 'plans',
      summary: 'Reject a plan',
      params: idParam('a plan'),
      headers: keyHeaders,
      body: decideBody,
      answers: { 200: { description: 'the plan as rejected', schema: answer } },
      refusals: [409],
      handle: async (context, { params: { id }, body }) =>
        answered(await plans.reject(id, context.var.caller.name, body.reason)),
    }),
    operation({
      method: 'POST',
      path: '/api/plans/:id/apply',
      scope: 'approve',
      operationId: 'applyPlan',
      tag: 'plans',
      summary: 'Apply an approved plan',
      params: idParam('a plan'),
      headers: keyHeaders,
      body: applyBody,
      answers: { 200: { description: 'the plan, with what was done and what was refused', schema: answer } },
      refusals: [409, 502],
      handle: async (context, { params: { id }, body: { breakGlass, reason } }) => {
        const { caller } = context.var;
        if (!breakGlass || reason === undefined) return answered(await plans.apply(id, caller.name));
        demandScope(caller, 'admin');
        return answered(await plans.apply(id, caller.name, { reason }));
      },
    }),
  ];
}

type PlanDeps = Pick<HttpDeps, 'reader' | 'views'>;

/** A plan that a person answered, and what was done at once. */
export async function planAnswered(
  deps: PlanDeps,
  { plan, applied }: PlanAnswer,
  more: object = {},
): Promise<Response> {
  const done = applied ? { ...applied, intents: applied.intents.map(deps.views.intent) } : null;
  return json({ ...(await planShown(deps, plan)), ...more, applied: done });
}

async function planShown({ reader, views }: PlanDeps, plan: Plan): Promise<object> {
  return views.plan(plan, await liveIntentsOf(reader, plan), await differenceFrom(reader, plan));
}
