// http: a route together with its schemas. In: what an operation takes and answers, and what it does. Out: a route whose handler gets
// only input that these schemas have checked, so the schema that checks is the schema that `/openapi.json` shows.
import type { z } from 'zod';
import type { Described } from './described.ts';
import { readBody, readHeaders, readParams, readQuery } from './input.ts';
import { type Ctx, notAllowed, type Route } from './route.ts';

interface Input<P, Q, H, B> {
  params: P;
  query: Q;
  /** By their names as the schema writes them. */
  headers: H;
  body: B;
}

type Shape<T> = z.ZodType<T> & z.ZodObject;

interface Operation<P, Q, H, B> extends Described, Pick<Route, 'method' | 'path' | 'scope' | 'isEndless'> {
  /** One for each parameter of the path. A value that it refuses is Problem 404. */
  params?: Shape<P>;
  /** Without it, a query is ignored. */
  query?: z.ZodType<Q>;
  headers?: Shape<H>;
  /** Without it, a body is not read. */
  body?: z.ZodType<B>;
  handle(context: Ctx, input: Input<P, Q, H, B>): Promise<Response> | Response;
}

/** Errors of its handler: also Problem 400, 404, 413 for input that its schemas refuse. */
export function operation<P = unknown, Q = unknown, H = unknown, B = unknown>(operation: Operation<P, Q, H, B>): Route {
  const { method, path, scope, isEndless, handle, ...described } = operation;
  const { params, query, headers, body } = operation;
  return {
    method,
    path,
    scope,
    ...(isEndless && { isEndless }),
    described,
    handle: async (context) => {
      if (isEndless && context.req.method !== method) throw notAllowed(context.req.method, method);
      return handle(context, {
        params: (params ? readParams(context, params) : {}) as P,
        query: (query ? readQuery(context, query) : {}) as Q,
        headers: (headers ? readHeaders(context, headers) : {}) as H,
        body: (body ? await readBody(context, body) : {}) as B,
      });
    },
  };
}
