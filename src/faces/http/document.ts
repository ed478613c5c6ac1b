// http: the OpenAPI document of the endpoint. In: its routes. Out: a document that has each of them that is described, and no other. It
// is made from the schemas that check requests, and of those that answers are tested with.

import { OpenAPIHono, type RouteConfig } from '@hono/zod-openapi';
import { z } from 'zod';
import { type Answer, type Described, keyHeaders, type Method, TAGS } from '../../contract/operation.ts';
import { problemSchema } from '../../contract/problem.ts';
import { USER_HEADER } from '../../domain/actor.ts';
import type { Document, Route } from './route.ts';

// The statuses with which an operation may refuse, as its document names them.

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'the request is wrong; `errors` names each field',
  401: 'a token is needed, or it is unknown, revoked or expired',
  403: 'the scope of the token is not enough',
  404: 'what the request names does not exist',
  409: 'the current state forbids this',
  413: 'the body is too large',
  422: 'the key was used with another request',
  421: 'this host is not served here',
  429: 'too much is waiting or asked at once; try again later',
  500: 'something went wrong inside: see the log',
  502: 'the Management API cannot be reached, or refuses',
  503: 'the database does not work, or Trustward is shutting down',
};
/** Of the guards that every request passes. */
const OF_ANY = [400, 413, 421, 500];
/** Of a request that may be repeated. */
const OF_KEYS = [409, 422];
/** Of whatever reads the store. */
const OF_API = [401, 429, 503];

function refusalsOf({ scope, described }: Pick<Route, 'scope' | 'described'>): number[] {
  const statuses = new Set([...OF_ANY, ...(described?.refusals ?? [])]);
  if (scope !== undefined) for (const status of OF_API) statuses.add(status);
  if (scope !== undefined) statuses.add(403);
  if (described?.params) statuses.add(404);
  if (described?.headers === keyHeaders) for (const status of OF_KEYS) statuses.add(status);
  const own = described?.answers ?? {};
  return [...statuses].filter((status) => !(status in own)).sort((one, other) => one - other);
}

const INFO = {
  title: 'Trustward',
  version: '1',
  description: [
    'The HTTP endpoint of Trustward.',
    'Lists are paged: `next` of a page is the position (`before`, or `after`) of the page after it, and null at the end.',
    'Errors are problem details (RFC 9457); `type` is stable.',
    'Integers beyond 2^53 are strings of digits.',
    'A later version may add names to answers, so accept names that you do not know. Bodies and queries with unknown names are refused.',
    'Any request may also be refused before it is read: 408 for one that is too slow, 431 for headers over 16 KiB.',
  ].join(' '),
};

export function documentOf(routes: readonly Route[]): Document {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  const description =
    'A token of the endpoint. Scopes: signals, read, trigger, approve, admin; each includes the ones before it.';
  registry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer', description });
  const { $schema: _, ...problem } = z.toJSONSchema(problemSchema);
  registry.registerComponent('schemas', 'Problem', problem as object);
  for (const [status, text] of Object.entries(MEANINGS))
    registry.registerComponent('responses', `Problem${status}`, problemResponseOf(Number(status), text));
  for (const route of routes) if (route.described) registry.registerPath(pathOf(route, route.described));
  const { webhooks: __, ...document } = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/' }],
    tags: TAGS.filter(([name]) => routes.some(({ described }) => described?.tag === name)).map(([name, text]) => ({
      name,
      description: text,
    })),
  });
  return withOpenAnswers(document);
}

function pathOf(route: Route, described: Described): RouteConfig {
  const { method, path, scope } = route;
  const { id: operationId, tag, summary, description, params, query, headers, body, answers } = described;
  const own = Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)] as const);
  const refused = refusalsOf(route).map(
    (status) => [status, { $ref: `#/components/responses/Problem${status}` }] as const,
  );
  const allHeaders = scope === undefined ? headers : z.object({ ...userHeader, ...headers?.shape });
  return {
    method: method.toLowerCase() as Lowercase<Method>,
    path: path.replace(/:(\w+)/g, '{$1}'),
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: scope === undefined ? [] : [{ token: [scope] }],
    request: {
      ...(params && { params }),
      ...(query && { query: query as z.ZodObject }),
      ...(allHeaders && { headers: allHeaders }),
      ...(body && {
        body: { content: { 'application/json': { schema: body } }, required: !body.safeParse({}).success },
      }),
    },
    responses: Object.fromEntries([...own, ...refused]),
  };
}

const userHeader = {
  [USER_HEADER]: z
    .string()
    .max(600)
    .optional()
    .describe('with scope `admin`: the user whom records name, percent-encoded; otherwise ignored'),
};

function responseOf({ description, schema, types = [], headers }: Answer) {
  const texts = types.map((type) => [type, { schema: z.string() }] as const);
  const content = { ...(schema && { 'application/json': { schema } }), ...Object.fromEntries(texts) };
  return { description, content, ...(headers && { headers: headersOf(headers) }) };
}

const OF_STATUS: Readonly<Record<number, Record<string, string>>> = {
  401: { 'WWW-Authenticate': 'how to authenticate' },
  409: { 'Retry-After': 'in seconds, while the first request with this key is under way' },
  429: { 'Retry-After': 'in seconds, where it is known' },
};

function problemResponseOf(status: number, description: string) {
  const headers = OF_STATUS[status];
  return {
    description,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    ...(headers && { headers: headersOf(headers) }),
  };
}

function headersOf(headers: Readonly<Record<string, string>>) {
  const named = Object.entries(headers).map(
    ([name, description]) => [name, { description, schema: { type: 'string' as const } }] as const,
  );
  return Object.fromEntries(named);
}

/** What answers may have is open, so that a later version can add names; what requests may have is not. */
function withOpenAnswers(document: Document): Document {
  open(document.components);
  for (const path of Object.values(document.paths ?? {}))
    for (const operation of [path.get, path.post, path.put, path.patch, path.delete]) open(operation?.responses);
  return document;
}

function open(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const object = part as { additionalProperties?: unknown };
  if (object.additionalProperties === false) delete object.additionalProperties;
  for (const inner of Object.values(part)) open(inner);
}
