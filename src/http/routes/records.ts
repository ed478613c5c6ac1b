// http: what was decided, and what is in force: decisions, one subject's history, intents, claims, notifications. In: requests with
// filters. Out: JSON lists, newest first, with `next` when there may be more.
import { z } from 'zod';
import { namedDecisions } from '../../domain/decision-filter.ts';
import { demandKnownOwner } from '../../domain/known-owner.ts';
import { NOTIFICATION_STATUSES } from '../../domain/notification.ts';
import { nextOf } from '../../domain/record-reader.ts';
import { demandOne, resolveName } from '../../domain/resolve-name.ts';
import { type DecisionQuery, openClaims } from '../../domain/store.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { HttpDeps } from '../deps.ts';
import { nameField, sinceField, sinceOf } from '../input.ts';
import { operation } from '../operation.ts';
import { pageFields, pageSchema, total } from '../paging.ts';
import { json, type Route } from '../route.ts';
import { runOf } from './runs.ts';

const decisionQuery = z.strictObject({
  run: nameField.optional().describe('decisions that this run wrote: its id, or `latest`'),
  rule: nameField.optional(),
  subject: nameField.optional(),
  target: nameField.optional(),
  decision: z.enum(['act', 'hold', 'skip']).optional(),
  action: nameField.optional(),
  owner: nameField.optional().describe('the e-mail address of the user, or of the owner of the device'),
  since: sinceField,
  ...pageFields,
});
const pageQuery = z.strictObject(pageFields);
const intentQuery = z.strictObject({
  status: z.enum(['planned', 'sent', 'settled', 'withdrawn']).optional(),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run']).optional(),
  ...pageFields,
});
const claimQuery = z.strictObject({
  status: z
    .enum(['standing', 'orphaned', 'ended', 'overridden', 'released', 'open'])
    .optional()
    .describe('`open`: standing or orphaned'),
  ...pageFields,
});

const subjectParams = z.object({ kind: z.enum(SUBJECT_KINDS), id: z.string().describe('any name of the subject') });
const notificationQuery = z.strictObject({
  status: z.enum(NOTIFICATION_STATUSES).optional(),
  ...pageFields,
});

export function recordRoutes(deps: HttpDeps): Route[] {
  const { reader, views, schemas } = deps;
  const inForce = z.boolean();
  const described = pageSchema('decisions', z.strictObject({ ...schemas.decision.shape, inForce }), {
    subject: z.strictObject({ ...subjectParams.shape, name: z.string().nullable() }),
    intents: z.array(schemas.intent),
    claims: z.array(schemas.claim),
  });
  return [
    operation({
      method: 'GET',
      path: '/api/decisions',
      scope: 'read',
      operationId: 'listDecisions',
      tag: 'decisions',
      summary: 'List decisions',
      query: decisionQuery,
      answers: {
        200: {
          description: 'a page of decisions, the newest first',
          schema: pageSchema('decisions', schemas.decision),
        },
      },
      refusals: [404],
      handle: (_context, { query }) => listDecisions(deps, query),
    }),
    operation({
      method: 'GET',
      path: '/api/subjects/:kind/:id',
      scope: 'read',
      operationId: 'getSubject',
      tag: 'decisions',
      summary: 'Read what was decided about a subject, and what is in force on it',
      params: subjectParams,
      query: pageQuery,
      answers: {
        200: { description: 'the subject, with a page of its decisions, the newest first', schema: described },
      },
      handle: (_context, { params, query }) => describeSubject(deps, params, query),
    }),
    operation({
      method: 'GET',
      path: '/api/intents',
      scope: 'read',
      operationId: 'listIntents',
      tag: 'in force',
      summary: 'List intents',
      query: intentQuery,
      answers: {
        200: {
          description: 'a page of intents, the newest first',
          schema: pageSchema('intents', schemas.intent, { total }),
        },
      },
      handle: async (_context, { query: { status, outcome, limit, before } }) => {
        const filter = {
          ...(status && { status }),
          ...(outcome && { outcome }),
          ...(before !== undefined && { before }),
        };
        const { rows, total } = await reader.newestIntents(filter, limit);
        return json({ intents: rows.map(views.intent), total, next: nextOf(rows, limit) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/claims',
      scope: 'read',
      operationId: 'listClaims',
      tag: 'in force',
      summary: 'List claims',
      query: claimQuery,
      answers: {
        200: {
          description: 'a page of claims, the newest first',
          schema: pageSchema('claims', schemas.claim, { total }),
        },
      },
      handle: async (_context, { query: { status, limit, before } }) => {
        const filter = { ...(status && { status }), ...(before !== undefined && { before }) };
        return json(await views.claims(reader, { ...filter, limit }));
      },
    }),
    operation({
      method: 'GET',
      path: '/api/notifications',
      scope: 'read',
      operationId: 'listNotifications',
      tag: 'notifications',
      summary: 'List notifications',
      query: notificationQuery,
      answers: {
        200: {
          description: 'a page of notifications, the newest first',
          schema: pageSchema('notifications', schemas.notification),
        },
      },
      handle: async (_context, { query: { status, limit, before } }) => {
        const statuses = status ? [status] : NOTIFICATION_STATUSES;
        const found = await reader.notifications({ statuses, ...(before !== undefined && { before }) }, limit);
        const nowMs = deps.clock.nowMs();
        const notifications = found.map((one) => views.notification(one, nowMs));
        return json({ notifications, next: nextOf(found, limit) });
      },
    }),
  ];
}

async function listDecisions(
  { reader, views, clock, rules }: HttpDeps,
  asked: z.infer<typeof decisionQuery>,
): Promise<Response> {
  const { run, rule, subject, target, decision, action, owner, since, limit, before } = asked;
  const loaded = rules().map(({ id }) => id);
  const named = await namedDecisions(reader, { rule, subject, target }, loaded);
  const query: DecisionQuery = { ...named.query, limit, ...sinceOf(since, clock.nowMs()) };
  if (run !== undefined) query.runSeq = (await runOf(reader, run)).seq;
  if (decision !== undefined) query.decision = decision;
  if (action !== undefined) query.action = action;
  if (owner !== undefined) query.owner = owner;
  if (before !== undefined) query.before = before;
  const found = await reader.decisions(query);
  if (found.length === 0 && owner !== undefined) await demandKnownOwner(reader, owner);
  return json({ decisions: found.map(views.decision), next: nextOf(found, limit) });
}

/** Everything known about one subject, by any of its names. Errors: AppError `not_found` when nothing is known of it. */
async function describeSubject(
  { reader, views }: HttpDeps,
  { kind, id: given }: z.infer<typeof subjectParams>,
  { limit, before }: z.infer<typeof pageQuery>,
): Promise<Response> {
  const { id, name } = await subjectNamed(reader, kind, given);
  const found = await reader.decisions({ subjectId: id, limit, ...(before !== undefined && { before }) });
  const own = found.filter((decision) => decision.subject.kind === kind);
  const intentIds = [...new Set(own.flatMap((decision) => decision.intentId ?? []))];
  const intents = intentIds.length === 0 ? [] : await reader.intents({ ids: intentIds });
  const claims = await openClaims(reader, { subjectId: id });
  return json({
    subject: { kind, id, name: own[0]?.subjectName ?? name ?? null },
    decisions: own.map((decision) => ({ ...views.decision(decision), inForce: decision.endedSeq === undefined })),
    intents: intents.map(views.intent),
    claims: claims.map(views.claim),
    next: nextOf(found, limit),
  });
}

async function subjectNamed(
  reader: HttpDeps['reader'],
  kind: SubjectKind,
  given: string,
): Promise<{ id: string; name?: string }> {
  const decided = await reader.decisions({ subjectId: given, limit: 1 });
  if (decided.some(({ subject }) => subject.kind === kind)) return { id: given };
  return demandOne(await resolveName(reader, given, { kinds: [kind] }), given).subjects[0];
}
