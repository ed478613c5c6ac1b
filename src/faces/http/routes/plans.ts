// http: plans: reading them, and an operator's yes or no. The token's name is recorded. In: requests. Out: the current
// plan. It applies nothing itself: the ports of deps do.
import { z } from 'zod';
import { isoTime } from '../../../base/time.ts';
import { SCOPES } from '../../../domain/endpoint-token.ts';
import { AppError } from '../../../domain/errors.ts';
import { givenTime } from '../../../domain/given-time.ts';
import { differenceFrom, liveIntentsOf, PLAN_STATUSES, type Plan, SELECTION_MAX } from '../../../domain/plan.ts';
import type { Log } from '../../../domain/ports.ts';
import { nextOf } from '../../../domain/store-ports.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps, PlanAnswer } from '../deps.ts';
import { baseOf } from '../mount.ts';
import { keyHeaders, Problem } from '../problem.ts';
import {
  type Ctx,
  givenText,
  idParam,
  json,
  leadTo,
  nameField,
  nothing,
  operation,
  pageFields,
  pageSchema,
  type Route,
  readForm,
  Turns,
  total,
} from '../route.ts';
import { RETURN_MAX, type SigningIn } from '../sign-in.ts';

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

// Signing in to the page, and out.

const link = z.strictObject({ url: z.string(), expiresAt: z.string() }).meta({ id: 'SignInLink' });
const signInForm = z.strictObject({
  code: z.string().max(512).optional(),
  token: z.string().max(512).optional(),
  to: z.string().optional(),
});

/** A link for whoever holds a token, with its scope and name. */
export function signInLinkRoutes({ signIn }: Pick<HttpDeps, 'signIn'>): Route[] {
  return [
    operation({
      method: 'POST',
      path: '/api/sign-in-links',
      scope: 'read',
      operationId: 'addSignInLink',
      tag: 'tokens',
      summary: 'Make a link that signs in to the page once',
      description: 'Whoever opens it has the name and the scope of the token that made it.',
      body: nothing,
      answers: { 201: { description: 'the link, and when it expires', schema: link } },
      handle: async (context) => {
        const { url, expiresAtMs } = await signIn.link(context.var.caller, baseOf(context));
        return json({ url, expiresAt: isoTime(expiresAtMs) }, 201);
      },
    }),
  ];
}

export interface SignInParts {
  signInAt(context: Ctx): SigningIn;
  /** `trustward open` makes links that lead here. */
  opensByCommand: boolean;
  log: Log;
}

/** The answers to the forms of the sign-in page, and of the button that ends a session. */
export function signInRoutes({ signInAt, opensByCommand, log }: SignInParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/sign-in',
      scope: undefined,
      handle: async (context) => {
        const { code, token, to } = await readForm(context, signInForm);
        const signIn = signInAt(context);
        const signedIn = await (code === undefined ? signIn.withToken(token?.trim() ?? '') : signIn.withCode(code));
        if (!signedIn) throw code === undefined ? unknownToken(opensByCommand) : usedUp(opensByCommand);
        await signIn.signOut(context.req.header('cookie'));
        const { name } = signedIn.caller;
        log.info({ by: name }, `${name} signed in to the page`);
        context.header('Set-Cookie', signIn.cookie(signedIn));
        return leadTo(context, localPath(to));
      },
    },
    {
      method: 'POST',
      path: '/sign-out',
      scope: undefined,
      handle: async (context) => {
        for (const cookie of await signInAt(context).signOut(context.req.header('cookie')))
          context.header('Set-Cookie', cookie, { append: true });
        return leadTo(context, '/sign-in');
      },
    },
  ];
}

/** Where to go after signing in: a path of ours, otherwise the first page. A browser reads `//` and `/\\` as another host. */
function localPath(to: string | undefined): string {
  return to !== undefined && to.length <= RETURN_MAX && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/';
}

function usedUp(opensByCommand: boolean): Problem {
  const then = opensByCommand ? 'run `trustward open` for a new one' : 'sign in with a token';
  const detail = `the link is unknown, was used already, or is older than ten minutes: ${then}`;
  return new Problem(401, 'unauthorized', 'The link cannot be used', detail);
}

function unknownToken(opensByCommand: boolean): Problem {
  const then = opensByCommand ? 'run `trustward open` for a link' : 'make a new one with `trustward tokens add`';
  const detail = `the token is unknown, revoked or expired: check it, or ${then}`;
  return new Problem(401, 'unauthorized', 'The token is not valid', detail);
}

// The endpoint's tokens: listed, made and revoked with a token of scope `admin` only.

const addBody = z.strictObject({
  name: nameField,
  scope: z.enum(SCOPES),
  expires: z.string().min(1).max(100).optional().describe('a duration such as `90d`, or a date; without it, never'),
});

export function tokenRoutes({ reader, tokens, views, schemas, clock }: HttpDeps): Route[] {
  const made = z.strictObject({ ...schemas.token.shape, token: z.string() }).meta({ id: 'MadeToken' });
  return [
    operation({
      method: 'GET',
      path: '/api/tokens',
      scope: 'admin',
      operationId: 'listTokens',
      tag: 'tokens',
      summary: 'List tokens',
      query: z.strictObject(pageFields),
      answers: {
        200: {
          description: 'a page of tokens without their text, the newest first',
          schema: pageSchema('tokens', schemas.token, { total }),
        },
      },
      handle: async (_context, { query: { limit, before } }) => {
        const nowMs = clock.nowMs();
        const { rows, total } = await reader.tokenPage({ limit, ...(before !== undefined && { before }) });
        const tokens = rows.map((token) => views.token(token, nowMs));
        return json({ tokens, total, next: nextOf(rows, limit) });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/tokens',
      scope: 'admin',
      operationId: 'addToken',
      tag: 'tokens',
      summary: 'Make a token',
      body: addBody,
      answers: { 201: { description: 'its properties, and its text, which is shown only here', schema: made } },
      refusals: [409],
      handle: async (context, { body }) => {
        const { token, text } = await tokens.add(body, context.var.caller.name);
        return json({ ...views.token(token, clock.nowMs()), token: text }, 201);
      },
    }),
    operation({
      method: 'POST',
      path: '/api/tokens/:name/revoke',
      scope: 'admin',
      operationId: 'revokeToken',
      tag: 'tokens',
      summary: 'Revoke a token',
      params: z.object({ name: z.string().describe('the name of a token') }),
      body: nothing,
      answers: { 200: { description: 'the token, which no longer opens anything', schema: schemas.token } },
      refusals: [409],
      handle: async (context, { params }) => {
        const revoked = await tokens.revoke(params.name, context.var.caller.name);
        return json(views.token(revoked, clock.nowMs()));
      },
    }),
  ];
}

// Why a rule matches one subject or not, and all that is known of one, read now.

const explainBody = z.strictObject({
  subject: nameField.describe('any name of it: a DeviceID, a serial number, an e-mail address, a ServiceID, a name'),
});
const whyQuery = z.strictObject({
  of: nameField.describe('any name of a device, user or service'),
  at: nameField
    .optional()
    .describe(
      'an earlier time, as a duration back from now or as a date: it is answered from the history, without the platform',
    ),
});

const BOUNDS = { what: 'explanations', underWayMax: 4, waitingMax: 8 };

export function explainRoutes({ explain, why, whyAt, clock, schemas, views }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  return [
    operation({
      method: 'POST',
      path: '/api/rules/:id/explain',
      scope: 'read',
      operationId: 'explainRule',
      tag: 'rules',
      summary: 'Explain why a rule matches a subject or not',
      description: 'It reads the subject from the platform now. Nothing is sent, and nothing is kept.',
      params: idParam('a rule'),
      body: explainBody,
      answers: {
        200: { description: 'the verdict with its reasons, and what would be decided now', schema: schemas.explained },
      },
      refusals: [409, 502],
      handle: async (_context, { params, body }) => {
        const explained = await turns.take(() => explain(params.id, body.subject));
        return json(await views.explained(explained));
      },
    }),
    operation({
      method: 'GET',
      path: '/api/why',
      scope: 'read',
      operationId: 'why',
      tag: 'decisions',
      summary: 'Show all that is known of a subject, and what happens next',
      query: whyQuery,
      answers: {
        200: { description: 'its state, its rules, what waits, its history, and the ways out', schema: schemas.why },
      },
      refusals: [404, 409, 502],
      handle: async (_context, { query: { of, at } }) => {
        const atMs = at === undefined ? undefined : givenTime(at, 'at', clock.nowMs(), 'before');
        if (atMs !== undefined && !whyAt) throw new AppError('not_found', 'there is no history here');
        const answer = () => (atMs === undefined || !whyAt ? why(of) : whyAt(of, atMs));
        return json(await views.why(await turns.take(answer)));
      },
    }),
  ];
}
