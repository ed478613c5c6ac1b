// http: what a route is, and how answers are written. In: a table of routes. Out: an app's handlers, with 404 and 405.
import type { Context, Hono } from 'hono';
import { inTurns } from '../domain/give-way.ts';
import { jsonPieces } from '../domain/json-pieces.ts';
import type { Described, DocumentSource } from './described.ts';
import { baseOf, type Mount } from './mount.ts';
import { matchesPath } from './path.ts';
import { Problem } from './problem.ts';
import type { Caller, Scope } from './tokens.ts';

export type Env = {
  Variables: {
    /** INVARIANT: set wherever a route has a scope; for an open one see `callerIfAny`. */
    caller: Caller;
    /** The id of the session that the caller comes from, if it does. */
    session: string | undefined;
    /** Without a session: who the same request is of now. Errors: as at its beginning, once its token is revoked or expired. */
    callerNow: () => Caller;
    /** The pattern of the route; undefined when the request reached none. */
    route: string | undefined;
    /** The body, once it was read to be compared with an earlier one. */
    bodyText: string | undefined;
    /** Of a request with an Idempotency-Key: what its run is stored with. */
    onceId: string | undefined;
    /** The OpenAPI document of the endpoint. */
    document: DocumentSource;
  };
  /** Of the process, never of the client. */
  Bindings:
    | {
        /** The request and the answer on their socket; absent without one. */
        outgoing?: { destroy(): void };
        incoming?: { socket?: { remoteAddress?: string | undefined } };
        /** Where the app stands; absent when it stands alone. */
        mount?: Mount;
      }
    | undefined;
};
export type Ctx = Context<Env>;

/** The caller on a path that is open to anybody. */
export function callerIfAny(context: Ctx): Caller | undefined {
  return context.var.caller as Caller | undefined;
}

export interface Route {
  method: 'GET' | 'POST';
  /** Each segment that begins with a colon matches one segment. */
  path: string;
  /** Undefined: open to anybody. */
  scope: Scope | undefined;
  /** Its answer has no end, so HEAD is refused. */
  isEndless?: true;
  /** Undefined: a page for people, which is in no document. */
  described?: Described;
  handle(context: Ctx): Promise<Response> | Response;
}

/** JSON, ended by a line feed. Integers that JSON numbers cannot hold become strings of digits. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Promise<Response> {
  return written(inTurns(jsonLine(body)), { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

function* jsonLine(body: unknown): Generator<string> {
  yield* jsonPieces(body);
  yield '\n';
}

/** INVARIANT: answered when all of it is written, so that a failure meanwhile is a problem and not half an answer. */
export async function written(chunks: AsyncIterable<string>, init: ResponseInit): Promise<Response> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(Buffer.from(chunk));
  return new Response(Buffer.concat(parts), init);
}

/** Leads a browser to a path of ours, wherever the app stands. */
export function leadTo(context: Ctx, path: string): Response {
  return context.redirect(`${baseOf(context)}${path}`, 303);
}

/** A parameter of the path. Never missing: the route has matched. */
export function param(context: Ctx, name: string): string {
  return context.req.param(name) ?? '';
}

/** The refusal for a request that no route answers: 405 with the methods of its path, otherwise 404. */
export function noRoute(routes: readonly Route[], method: string, path: string): Problem {
  const matching = routes.filter((route) => matchesPath(route.path, path));
  if (matching.length === 0) return new Problem(404, 'not-found', 'Not found', `there is no \`${path}\``);
  const methods = matching.flatMap((route) =>
    route.method === 'GET' && !route.isEndless ? ['GET', 'HEAD'] : [route.method],
  );
  return notAllowed(method, [...new Set(methods)].join(', '));
}

export function notAllowed(method: string, allow: string): Problem {
  return new Problem(
    405,
    'method-not-allowed',
    'The method is not allowed',
    `${method} is not allowed here, use ${allow}`,
    {
      headers: { Allow: allow },
    },
  );
}

export function addRoutes(app: Hono<Env>, routes: readonly Route[]): void {
  for (const { method, path, handle } of routes)
    app.on(method, path, (context) => {
      context.set('route', path);
      return handle(context);
    });
}
