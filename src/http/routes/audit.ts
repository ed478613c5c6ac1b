// http: the audit chain: reading its entries, and verifying it.
import { z } from 'zod';
import { auditedTarget } from '../../domain/decision-filter.ts';
import type { HttpDeps } from '../deps.ts';
import { limitField, nameField, nothing, positionField, sinceField, sinceOf } from '../input.ts';
import { operation } from '../operation.ts';
import { pageSchema } from '../paging.ts';
import { json, type Route } from '../route.ts';

const auditQuery = z
  .strictObject({
    after: positionField.optional().describe('entries after this number, oldest first'),
    before: positionField.optional().describe('entries before this number, newest first'),
    kind: nameField.optional().describe('entries of this kind, such as `decision.made`'),
    target: nameField.optional().describe('entries that name this target, by any of its names'),
    actor: nameField.optional().describe('who did it, in whatever way, such as `ana`'),
    since: sinceField,
    limit: limitField,
  })
  .refine((query) => query.after === undefined || query.before === undefined, {
    message: 'has both `after` and `before`: give one of them',
  });

const count = z.int().min(0);
const head = z.strictObject({ seq: count, hash: z.string() }).describe('the last entry');
const verified = z
  .strictObject({
    ok: z.boolean(),
    entries: count.describe('entries that were verified, before the first bad one'),
    head: z.string().describe('the hash of the last of them'),
    bad: z.strictObject({ seq: count, checkpoint: count.optional(), reason: z.string() }).nullable(),
  })
  .meta({ id: 'Verified' });

export function auditRoutes({ reader, views, schemas, verifyAudit, clock }: HttpDeps): Route[] {
  return [
    operation({
      method: 'GET',
      path: '/api/audit',
      scope: 'read',
      operationId: 'listAudit',
      tag: 'audit',
      summary: 'List audit entries',
      query: auditQuery,
      answers: {
        200: {
          description: 'a page of entries, and the head of the chain',
          schema: pageSchema('entries', schemas.auditEntry, { head, next: count }),
        },
      },
      refusals: [404],
      handle: async (_context, { query }) => {
        const { after, before, kind, target, actor, since, limit } = query;
        const entries = await reader.audit({
          limit,
          ...(after !== undefined && { afterSeq: after }),
          ...(before !== undefined && { beforeSeq: before }),
          ...(kind !== undefined && { kind }),
          ...(target !== undefined && { target: await auditedTarget(reader, target) }),
          ...(actor !== undefined && { actor }),
          ...sinceOf(since, clock.nowMs()),
        });
        const next = entries.length < limit ? null : (entries.at(-1)?.seq ?? null);
        return json({ entries: entries.map(views.auditEntry), head: await reader.auditHead(), next });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/audit/verify',
      scope: 'read',
      operationId: 'verifyAudit',
      tag: 'audit',
      summary: 'Verify the audit chain',
      body: nothing,
      answers: { 200: { description: 'whether the whole chain is intact', schema: verified } },
      handle: async () => {
        const { ok, entries, head, bad } = await verifyAudit();
        return json({ ok, entries, head, bad: bad ?? null });
      },
    }),
  ];
}
