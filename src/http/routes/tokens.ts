// http: the endpoint's tokens: listed, made and revoked with a token of scope `admin` only. In: requests. Out: a
// token's properties; the token itself once, in the answer to its creation.
import { z } from 'zod';
import { SCOPES } from '../../domain/endpoint-token.ts';
import { nextOf } from '../../domain/record-reader.ts';
import type { HttpDeps } from '../deps.ts';
import { nameField, nothing } from '../input.ts';
import { operation } from '../operation.ts';
import { pageFields, pageSchema, total } from '../paging.ts';
import { json, type Route } from '../route.ts';

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
