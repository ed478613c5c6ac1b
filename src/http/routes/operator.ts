// http: the operator commands: exemptions, stop and resume, accepting a reading, resolving intents, releasing claims.
// In: requests. Out: the resulting state. The token's name is recorded as the operator. The ports of deps do the work.
import { z } from 'zod';
import { FORGEABLE_FIELDS } from '../../domain/exemption.ts';
import { RESOLUTIONS } from '../../domain/intent.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { HttpDeps } from '../deps.ts';
import { givenText, idParam, nameField } from '../input.ts';
import { operation } from '../operation.ts';
import { pageFields, pageSchema, total } from '../paging.ts';
import { json, type Route } from '../route.ts';

const why = z.strictObject({ reason: givenText });
const listQuery = z.strictObject({
  ...pageFields,
  inForce: z.enum(['true', 'false']).default('false').describe('`true`: only those in force'),
});
const exemptBody = z.strictObject({
  subject: z
    .strictObject({ kind: nameField.optional(), id: nameField })
    .optional()
    .describe('any name of it: an id, a serial number, an e-mail address, or the name of a service'),
  selector: z.strictObject({ field: nameField, value: nameField }).optional(),
  owner: givenText,
  reason: givenText,
  until: z.string().min(1).max(100).describe('a duration such as `30d`, or a date'),
  unseen: z.boolean().default(false).describe('the subject is meant, though no trusted snapshot has shown it'),
  release: z.boolean().default(false).describe('also undo what is in force on the protected targets'),
  acceptForgeable: z
    .boolean()
    .default(false)
    .describe(`required with a selector of ${FORGEABLE_FIELDS.join(', ')}: devices report these themselves`),
});
const confirmBody = z.strictObject({
  subject: nameField.optional().describe('the id or serial number of one that waits; all that wait when it is absent'),
  reason: givenText,
});
const resolveBody = z.strictObject({ as: z.enum(RESOLUTIONS), reason: givenText });
const releaseBody = z
  .strictObject({ target: nameField.optional(), rule: nameField.optional(), reason: givenText.optional() })
  .refine(
    ({ target, rule }) => (target === undefined) !== (rule === undefined),
    'needs `target` or `rule`, one of the two',
  )
  .refine(({ target, reason }) => target === undefined || reason !== undefined, {
    path: ['reason'],
    message: 'is required with a target',
  });
const acceptBody = z.strictObject({ source: nameField, reason: givenText });

const covered = z.strictObject({ kind: z.enum(SUBJECT_KINDS), count: z.int().min(0), examples: z.array(z.string()) });
const kept = z
  .array(z.strictObject({ action: z.string(), target: z.string(), rules: z.array(z.string()) }))
  .describe('targets that stay, since other rules claim them too');

export function operatorRoutes(deps: HttpDeps): Route[] {
  return [...exemptionRoutes(deps), ...switchRoutes(deps), ...doubtRoutes(deps)];
}

function exemptionRoutes({ reader, views, schemas, operator, clock }: HttpDeps): Route[] {
  const covers = covered.nullable().describe('null: it cannot be known');
  const joinedLater = z
    .strictObject({ count: z.int().min(0), examples: z.array(z.string()) })
    .describe('what it is about now and did not cover when it was made: it waits for a person');
  const listed = z.strictObject({ ...schemas.exemption.shape, covers, joinedLater }).meta({ id: 'ListedExemption' });
  const confirmed = z
    .strictObject({
      ...schemas.exemption.shape,
      confirmed: z.array(z.string()).describe('what it covers from now on, too'),
    })
    .meta({ id: 'ConfirmedExemption' });
  const added = z
    .strictObject({ ...schemas.exemption.shape, covers, released: z.array(schemas.released) })
    .meta({ id: 'AddedExemption' });
  return [
    operation({
      method: 'GET',
      path: '/api/exemptions',
      scope: 'read',
      operationId: 'listExemptions',
      tag: 'operator',
      summary: 'List exemptions',
      query: listQuery,
      answers: {
        200: {
          description: 'a page of exemptions, the newest first',
          schema: pageSchema('exemptions', listed, { total }),
        },
      },
      handle: async (_context, { query: { inForce, limit, before } }) => {
        const page = { inForce: inForce === 'true', limit, ...(before !== undefined && { before }) };
        return json(await views.exemptions(reader, page, clock.nowMs()));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions',
      scope: 'approve',
      operationId: 'addExemption',
      tag: 'operator',
      summary: 'Exempt a subject, or all that a selector names, until a time',
      description: 'Give `subject` or `selector`.',
      body: exemptBody,
      answers: { 201: { description: 'the exemption, what it covers now, and what was released', schema: added } },
      refusals: [404, 409],
      handle: async (context, { body }) => {
        const { exemption, covers, released } = await operator.exempt(body, context.var.caller.name);
        const shown = { ...views.exemption(exemption, clock.nowMs()), covers: covers ?? null };
        return json({ ...shown, released: released.map(views.released) }, 201);
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions/:id/end',
      scope: 'approve',
      operationId: 'endExemption',
      tag: 'operator',
      summary: 'End an exemption',
      params: idParam('an exemption'),
      body: why,
      answers: { 200: { description: 'the exemption, which has ended', schema: schemas.exemption } },
      refusals: [409],
      handle: async (context, { params, body }) => {
        const who = { by: context.var.caller.name, reason: body.reason };
        return json(views.exemption(await operator.endExemption(params.id, who), clock.nowMs()));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions/:id/confirm',
      scope: 'approve',
      operationId: 'confirmExemption',
      tag: 'operator',
      summary: 'Say yes to what joined an exemption later',
      params: idParam('an exemption'),
      body: confirmBody,
      answers: { 200: { description: 'the exemption, and what it covers from now on', schema: confirmed } },
      refusals: [409],
      handle: async (context, { params, body }) => {
        const who = { by: context.var.caller.name, ...body };
        const { exemption, confirmed } = await operator.confirmJoined(params.id, who);
        return json({ ...views.exemption(exemption, clock.nowMs()), confirmed });
      },
    }),
  ];
}

function switchRoutes({ views, schemas, operator }: HttpDeps): Route[] {
  return [
    operation({
      method: 'POST',
      path: '/api/stop',
      scope: 'approve',
      operationId: 'stop',
      tag: 'operator',
      summary: 'Stop everything: nothing is called from now on',
      body: why,
      answers: { 200: { description: 'the stop in force', schema: z.strictObject({ stopped: schemas.stop }) } },
      refusals: [409],
      handle: async (context, { body }) => {
        const stop = await operator.stop({ by: context.var.caller.name, reason: body.reason });
        return json({ stopped: views.stop(stop) });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/resume',
      scope: 'approve',
      operationId: 'resume',
      tag: 'operator',
      summary: 'Lift the stop',
      body: why,
      answers: {
        200: {
          description: 'the stop that was lifted',
          schema: z.strictObject({ stopped: z.null(), lifted: schemas.stop }),
        },
      },
      refusals: [409],
      handle: async (context, { body }) => {
        const lifted = await operator.resume({ by: context.var.caller.name, reason: body.reason });
        return json({ stopped: null, lifted: views.stop(lifted) });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/snapshot/accept',
      scope: 'approve',
      operationId: 'acceptSnapshot',
      tag: 'operator',
      summary: 'Accept a reading of a source that is not trusted',
      body: acceptBody,
      answers: { 200: { description: 'what was accepted, and for which reading', schema: schemas.acceptance } },
      refusals: [404, 409],
      handle: async (context, { body: { source, reason } }) =>
        json(views.acceptance(await operator.accept(source, { by: context.var.caller.name, reason }))),
    }),
  ];
}

function doubtRoutes({ views, schemas, operator }: HttpDeps): Route[] {
  const undone = z.strictObject({ released: z.array(schemas.released) });
  const planned = z.strictObject({ plan: schemas.plan, matching: z.int().min(0), kept });
  return [
    operation({
      method: 'POST',
      path: '/api/intents/:id/resolve',
      scope: 'approve',
      operationId: 'resolveIntent',
      tag: 'operator',
      summary: 'Resolve an intent that is in doubt, parked or failed',
      params: idParam('an intent'),
      body: resolveBody,
      answers: { 200: { description: 'the intent as it is now', schema: schemas.intent } },
      refusals: [409, 502],
      handle: async (context, { params, body: { as, reason } }) => {
        const who = { by: context.var.caller.name, reason };
        return json(views.intent(await operator.resolve(params.id, as, who)));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/claims/release',
      scope: 'approve',
      operationId: 'releaseClaims',
      tag: 'operator',
      summary: 'Undo what is in force on a target, or plan the undo of all that a rule has in force',
      body: releaseBody,
      answers: {
        200: {
          description: 'with a target: what was released; with a rule: the plan',
          schema: z.union([undone, planned]),
        },
      },
      description: 'Give `target` and `reason`, or `rule`.',
      refusals: [404, 409, 502],
      handle: async (context, { body: { target, rule, reason } }) => {
        const by = context.var.caller.name;
        if (rule !== undefined) {
          const { plan, ...others } = await operator.releaseRule(rule, by, reason);
          return json({ plan: views.plan(plan), ...others });
        }
        const released = await operator.release(target as string, { by, reason: reason as string });
        return json({ released: released.map(views.released) });
      },
    }),
  ];
}
