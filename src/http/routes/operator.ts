// http: the operator commands: exemptions, stop and resume, accepting a reading, resolving intents, releasing claims.
// In: requests. Out: the resulting state. The token's name is recorded as the operator. The ports of deps do the work.
import { z } from 'zod';
import type { HttpDeps } from '../deps.ts';
import { nameField, readBody, readQuery } from '../input.ts';
import { json, param, type Route } from '../route.ts';

const text = z.string().trim().min(1).max(1_000);
const why = z.strictObject({ reason: text });
const listQuery = z.strictObject({
  /** `true`: only those in force. */
  inForce: z.enum(['true', 'false']).default('false'),
});
const exemptBody = z.strictObject({
  /** Any name of it: an id, a serial number, an e-mail address, or the name of a service. */
  subject: z.strictObject({ kind: nameField.optional(), id: nameField }).optional(),
  selector: z.strictObject({ field: nameField, value: nameField }).optional(),
  owner: text,
  reason: text,
  until: z.string().min(1).max(100),
  /** The subject is meant, though no trusted snapshot has shown it. */
  unseen: z.boolean().default(false),
  /** Also undo what is in force on the protected targets. */
  release: z.boolean().default(false),
});
const resolveBody = z.strictObject({ as: z.enum(['done', 'not-done', 'retry']), reason: text });
const releaseBody = z.strictObject({ target: nameField, reason: text });
const acceptBody = z.strictObject({ source: nameField, reason: text });

export function operatorRoutes(deps: HttpDeps): Route[] {
  return [...exemptionRoutes(deps), ...switchRoutes(deps), ...doubtRoutes(deps)];
}

function exemptionRoutes({ reader, views, operator, clock }: HttpDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/exemptions',
      scope: 'read',
      handle: async (context) => {
        const { inForce } = readQuery(context, listQuery);
        const nowMs = clock.nowMs();
        const found = await reader.exemptions(inForce === 'true' ? nowMs : undefined);
        return json({ exemptions: found.map((exemption) => views.exemption(exemption, nowMs)) });
      },
    },
    {
      method: 'POST',
      path: '/api/exemptions',
      scope: 'approve',
      handle: async (context) => {
        const request = await readBody(context, exemptBody);
        const { exemption, covers, released } = await operator.exempt(request, context.var.caller.name);
        const shown = { ...views.exemption(exemption, clock.nowMs()), covers: covers ?? null };
        const body = { ...shown, released: released.map(views.released) };
        return json(body, 201);
      },
    },
    {
      method: 'POST',
      path: '/api/exemptions/:id/end',
      scope: 'approve',
      handle: async (context) => {
        const { reason } = await readBody(context, why);
        const who = { by: context.var.caller.name, reason };
        return json(views.exemption(await operator.endExemption(param(context, 'id'), who), clock.nowMs()));
      },
    },
  ];
}

function switchRoutes({ views, operator }: HttpDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/stop',
      scope: 'approve',
      handle: async (context) => {
        const { reason } = await readBody(context, why);
        const stop = await operator.stop({ by: context.var.caller.name, reason });
        return json({ stopped: views.stop(stop) });
      },
    },
    {
      method: 'POST',
      path: '/api/resume',
      scope: 'approve',
      handle: async (context) => {
        const { reason } = await readBody(context, why);
        const lifted = await operator.resume({ by: context.var.caller.name, reason });
        return json({ stopped: null, lifted: views.stop(lifted) });
      },
    },
    {
      method: 'POST',
      path: '/api/snapshot/accept',
      scope: 'approve',
      handle: async (context) => {
        const { source, reason } = await readBody(context, acceptBody);
        return json(views.acceptance(await operator.accept(source, { by: context.var.caller.name, reason })));
      },
    },
  ];
}

function doubtRoutes({ views, operator }: HttpDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/intents/:id/resolve',
      scope: 'approve',
      handle: async (context) => {
        const { as, reason } = await readBody(context, resolveBody);
        const who = { by: context.var.caller.name, reason };
        return json(views.intent(await operator.resolve(param(context, 'id'), as, who)));
      },
    },
    {
      method: 'POST',
      path: '/api/claims/release',
      scope: 'approve',
      handle: async (context) => {
        const { target, reason } = await readBody(context, releaseBody);
        const released = await operator.release(target, { by: context.var.caller.name, reason });
        return json({ released: released.map(views.released) });
      },
    },
  ];
}
