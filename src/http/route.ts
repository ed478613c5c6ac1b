// http: what a route is, and how answers are written. In: a table of routes. Out: an app's handlers, with 404 and 405.
import type { Context, Hono } from 'hono';
import { matchesPath } from './path.ts';
import { Problem } from './problem.ts';
import type { Caller, Scope } from './tokens.ts';

export type Env = { Variables: { caller: Caller } };
export type Ctx = Context<Env>;

export interface Route {
  method: 'GET' | 'POST';
  /** Each segment that begins with a colon matches one segment. */
  path: string;
  /** Undefined: open to anybody. */
  scope: Scope | undefined;
  handle(context: Ctx): Promise<Response> | Response;
}

/** JSON, ended by a line feed. Integers that JSON numbers cannot hold become strings of digits. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const text = JSON.stringify(body, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
  return new Response(`${text}\n`, { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

/** A parameter of the path. Never missing: the route has matched. */
export function param(context: Ctx, name: string): string {
  return context.req.param(name) ?? '';
}

/** The refusal for a request that no route answers: 405 with the methods of its path, otherwise 404. */
export function noRoute(routes: readonly Route[], method: string, path: string): Problem {
  const methods = routes.filter((route) => matchesPath(route.path, path)).map((route) => route.method);
  if (methods.length === 0) return new Problem(404, 'not-found', 'Not found', `there is no \`${path}\``);
  const allow = [...new Set(methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])))].join(', ');
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
  for (const { method, path, handle } of routes) app.on(method, path, (context) => handle(context));
}
