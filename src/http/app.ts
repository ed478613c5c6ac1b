// http: the endpoint, put together: headers, hosts, tokens, body limit, routes; and every error as problem details. In:
// the ports. Out: a Hono app. The order of the checks matters and is the order in this file.
import { Hono } from 'hono';
import { USER_HEADER } from '../domain/actor.ts';
import { lineOf } from '../domain/errors.ts';
import { callerOf, demandScope, namingUser } from './auth.ts';
import { demandShortBody } from './body.ts';
import type { HttpDeps } from './deps.ts';
import type { DocumentSource } from './described.ts';
import { guardedPage } from './guarded-page.ts';
import { PAGE_HEADERS, SECURITY_HEADERS } from './headers.ts';
import { demandHost } from './hosts.ts';
import { Idempotency, takesKey } from './idempotency.ts';
import { lostAnswers } from './lost-answers.ts';
import type { Pages } from './pages.ts';
import { isForMachines, isWithToken, STREAM_PATH } from './path.ts';
import { Problem, problemOf, problemResponse, UNFORESEEN } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import { addRoutes, type Ctx, type Env, noRoute, type Route } from './route.ts';
import { auditRoutes } from './routes/audit.ts';
import { explainRoutes } from './routes/explain.ts';
import { healthRoutes, pointerRoute } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openapiRoute } from './routes/openapi.ts';
import { operatorRoutes } from './routes/operator.ts';
import { planRoutes } from './routes/plans.ts';
import { recordRoutes } from './routes/records.ts';
import { ruleRoutes } from './routes/rules.ts';
import { runRoutes } from './routes/runs.ts';
import { signInLinkRoutes, signInRoutes } from './routes/sign-in.ts';
import { streamRoutes } from './routes/stream.ts';
import { summaryRoutes } from './routes/summary.ts';
import { timelineRoutes } from './routes/timeline.ts';
import { tokenRoutes } from './routes/tokens.ts';
import type { Caller } from './tokens.ts';

/**
 * The endpoint. Everything under `/api`, and `/metrics`, needs a bearer token; its errors never carry a secret or a stack trace. With pages, the other
 * paths are theirs, also the errors there.
 */
export function createHttpApp(deps: HttpDeps, pages?: Pages): Hono<Env> {
  const app = new Hono<Env>();
  const isPage = (path: string) => pages !== undefined && !isForMachines(path);
  const routes: Route[] = [
    ...healthRoutes(deps),
    ...runRoutes(deps),
    ...planRoutes(deps),
    ...recordRoutes(deps),
    ...timelineRoutes(deps),
    ...summaryRoutes(deps),
    ...auditRoutes(deps),
    ...streamRoutes(deps),
    ...explainRoutes(deps),
    ...ruleRoutes(deps),
    ...operatorRoutes(deps),
    ...tokenRoutes(deps),
    metricsRoute(deps),
    ...signInLinkRoutes(deps),
    openapiRoute(() => document()),
    ...(pages ? [...pages.routes, ...signInRoutes(deps)] : [pointerRoute(deps)]),
  ];
  const rates = new RateLimit(deps.clock, deps.rateLimits);
  const known = (context: Ctx, callerNow: () => Caller): Caller => {
    try {
      return callerNow();
    } catch (error) {
      if (error instanceof Problem && error.status === 401) rates.countFailure(context);
      throw error;
    }
  };
  const document = documentSource(routes);
  const answerProblem = async (problem: Problem, context: Ctx): Promise<Response> => {
    const { path } = context.req;
    if (!pages || !isPage(path)) return problemResponse(problem, path);
    try {
      return await pages.problem(problem, context);
    } catch (error) {
      return problemResponse(foreseen(deps, error), path);
    }
  };
  app.use(async (context, next) => {
    const startedMs = deps.clock.monotonicMs();
    context.set('document', document);
    await next();
    const { headers } = context.res;
    const ours = isPage(context.req.path) ? PAGE_HEADERS : SECURITY_HEADERS;
    for (const [name, value] of Object.entries(ours)) if (!headers.has(name)) headers.set(name, value);
    const ms = deps.clock.monotonicMs() - startedMs;
    const { method } = context.req;
    deps.metrics.answered({ method, route: context.var.route, status: context.res.status, ms });
    logRequest(deps, context, ms);
  });
  app.use(async (context, next) => {
    demandHost(context, deps.hosts);
    await next();
  });
  app.use(async (context, next) => {
    const { req } = context;
    const authorization = req.header('authorization');
    const mayBeSession = isPage(req.path) || (req.path === STREAM_PATH && authorization === undefined);
    const session = mayBeSession ? deps.signIn.callerOf(req.header('cookie')) : undefined;
    if (session) {
      context.set('caller', session.caller);
      context.set('session', session.id);
    } else if (isWithToken(req.path)) {
      const callerNow = () => namingUser(callerOf(authorization, deps), req.header(USER_HEADER));
      context.set('caller', known(context, callerNow));
      context.set('callerNow', callerNow);
    }
    rates.demand(context);
    await next();
  });
  // After the caller is known: a stranger learns nothing but that a token is needed.
  app.use(async (context, next) => {
    demandShortBody(context);
    await next();
  });
  const keys = new Idempotency(deps, lostAnswers(deps));
  const onceIfKeyed = (route: Route) => (takesKey(route) ? keys.once(route) : route);
  addRoutes(
    app,
    routes.map((route) => (isPage(route.path) ? guardedPage(route, deps) : guarded(onceIfKeyed(route)))),
  );
  app.notFound((context) => {
    const { method, path } = context.req;
    return answerProblem(noRoute(routes, method, path), context);
  });
  app.onError((error, context) => answerProblem(foreseen(deps, error), context));
  return app;
}

/** The library that makes it is loaded when it is first asked for. */
function documentSource(routes: readonly Route[]): DocumentSource {
  let made: ReturnType<DocumentSource> | undefined;
  const make = async () => (await import('./document.ts')).documentOf(routes);
  return () => (made ??= make());
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
