// http: the endpoint, put together: headers, hosts, tokens, body limit, routes; and every error as problem details. In:
// the ports. Out: a Hono app. The order of the checks matters and is the order in this file.
import { Hono } from 'hono';
import { USER_HEADER } from '../domain/actor.ts';
import { lineOf } from '../domain/errors.ts';
import { callerOf, demandScope, namingUser } from './auth.ts';
import { demandShortBody } from './body.ts';
import type { HttpDeps } from './deps.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { demandHost } from './hosts.ts';
import { type Problem, problemOf, problemResponse, UNFORESEEN } from './problem.ts';
import { addRoutes, type Ctx, type Env, noRoute, type Route } from './route.ts';
import { auditRoutes } from './routes/audit.ts';
import { explainRoutes } from './routes/explain.ts';
import { healthRoutes } from './routes/health.ts';
import { operatorRoutes } from './routes/operator.ts';
import { planRoutes } from './routes/plans.ts';
import { recordRoutes } from './routes/records.ts';
import { ruleRoutes } from './routes/rules.ts';
import { runRoutes } from './routes/runs.ts';
import { summaryRoutes } from './routes/summary.ts';
import { tokenRoutes } from './routes/tokens.ts';

/** The endpoint. Everything under `/api` needs a bearer token; its errors never carry a secret or a stack trace. */
export function createHttpApp(deps: HttpDeps): Hono<Env> {
  const app = new Hono<Env>();
  const routes: Route[] = [
    ...healthRoutes(deps),
    ...runRoutes(deps),
    ...planRoutes(deps),
    ...recordRoutes(deps),
    ...summaryRoutes(deps),
    ...auditRoutes(deps),
    ...explainRoutes(deps),
    ...ruleRoutes(deps),
    ...operatorRoutes(deps),
    ...tokenRoutes(deps),
  ];
  app.use(async (context, next) => {
    const startedMs = deps.clock.monotonicMs();
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.res.headers.set(name, value);
    logRequest(deps, context, deps.clock.monotonicMs() - startedMs);
  });
  app.use(async (context, next) => {
    demandHost(context, deps.hosts);
    await next();
  });
  app.use('/api/*', async (context, next) => {
    const { req } = context;
    context.set('caller', namingUser(callerOf(req.header('authorization'), deps), req.header(USER_HEADER)));
    await next();
  });
  // After the token: a stranger learns nothing but that it is needed.
  app.use(async (context, next) => {
    demandShortBody(context.req.header('content-length'));
    await next();
  });
  addRoutes(app, routes.map(guarded));
  app.notFound((context) => {
    const { method, path } = context.req;
    return problemResponse(noRoute(routes, method, path), path);
  });
  app.onError((error, context) => problemResponse(foreseen(deps, error), context.req.path));
  return app;
}

function guarded(route: Route): Route {
  const { scope, handle } = route;
  if (scope === undefined) return route;
  return {
    ...route,
    handle: (context) => {
      demandScope(context.var.caller, scope);
      return handle(context);
    },
  };
}

function foreseen(deps: HttpDeps, error: unknown): Problem {
  const problem = problemOf(error);
  if (problem) return problem;
  const stack = error instanceof Error ? error.stack : undefined;
  deps.log.error({ stack }, `a request failed with an unexpected error: ${lineOf(error)}`);
  return UNFORESEEN;
}

function logRequest(deps: HttpDeps, context: Ctx, ms: number): void {
  const { method, path } = context.req;
  const by = context.var.caller?.name;
  const { status } = context.res;
  deps.log.debug({ method, path, status, by, ms: Math.round(ms) }, `${method} ${path}: ${status}`);
}
