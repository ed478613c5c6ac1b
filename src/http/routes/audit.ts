// http: the audit chain: reading its entries, and verifying it.
import { z } from 'zod';
import { auditedTarget } from '../../domain/decision-filter.ts';
import type { HttpDeps } from '../deps.ts';
import { limitField, nameField, positionField, readBody, readQuery, sinceField, sinceOf } from '../input.ts';
import { json, type Route } from '../route.ts';

const auditQuery = z
  .strictObject({
    /** Entries after this number, oldest first. */
    after: positionField.optional(),
    /** Entries before this number, newest first. */
    before: positionField.optional(),
    kind: nameField.optional(),
    /** Entries that name this target, by any of its names. */
    target: nameField.optional(),
    /** Who did it, whatever the way, such as `ana`. */
    actor: nameField.optional(),
    since: sinceField,
    limit: limitField,
  })
  .refine((query) => query.after === undefined || query.before === undefined, {
    message: 'has both `after` and `before`: give one of them',
  });

export function auditRoutes({ reader, views, verifyAudit, clock }: HttpDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/audit',
      scope: 'read',
      handle: async (context) => {
        const { after, before, kind, target, actor, since, limit } = readQuery(context, auditQuery);
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
    },
    {
      method: 'POST',
      path: '/api/audit/verify',
      scope: 'read',
      handle: async (context) => {
        await readBody(context, z.strictObject({}));
        const { ok, entries, head, bad } = await verifyAudit();
        return json({ ok, entries, head, bad: bad ?? null });
      },
    },
  ];
}
