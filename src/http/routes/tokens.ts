// http: the endpoint's tokens: listed, made and revoked with a token of scope `admin` only. In: requests. Out: a
// token's properties; the token itself once, in the answer to its creation.
import { z } from 'zod';
import { SCOPES } from '../../domain/endpoint-token.ts';
import type { HttpDeps } from '../deps.ts';
import { nameField, readBody, readQuery } from '../input.ts';
import { json, param, type Route } from '../route.ts';

const addBody = z.strictObject({
  name: nameField,
  scope: z.enum(SCOPES),
  /** A duration such as `90d`, or a date. */
  expires: z.string().min(1).max(100).optional(),
});
const nothing = z.strictObject({});

export function tokenRoutes({ reader, tokens, views, clock }: HttpDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/tokens',
      scope: 'admin',
      handle: async (context) => {
        readQuery(context, nothing);
        const nowMs = clock.nowMs();
        return json({ tokens: (await reader.endpointTokens()).map((token) => views.token(token, nowMs)) });
      },
    },
    {
      method: 'POST',
      path: '/api/tokens',
      scope: 'admin',
      handle: async (context) => {
        const request = await readBody(context, addBody);
        const { token, text } = await tokens.add(request, context.var.caller.name);
        return json({ ...views.token(token, clock.nowMs()), token: text }, 201);
      },
    },
    {
      method: 'POST',
      path: '/api/tokens/:name/revoke',
      scope: 'admin',
      handle: async (context) => {
        await readBody(context, nothing);
        const revoked = await tokens.revoke(param(context, 'name'), context.var.caller.name);
        return json(views.token(revoked, clock.nowMs()));
      },
    },
  ];
}
