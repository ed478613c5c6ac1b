// http: routes with all that is asked before one is answered: hosts, who asks, how often, how long; and every error as problem details. In:
// routes and guards. Out: a Hono app. The order of the checks matters and is the order in this file.
import { Hono } from 'hono';
import { AppError, lineOf } from '../domain/errors.ts';
import { demandScope } from './auth.ts';
import { demandShortBody } from './body.ts';
import type { HttpDeps } from './deps.ts';
import type { DocumentSource } from './described.ts';
import { guardedPage } from './guarded-page.ts';
import { PAGE_HEADERS, SECURITY_HEADERS } from './headers.ts';
import { demandHost } from './hosts.ts';
import { pathWithin, sentPath } from './mount.ts';
import type { Pages } from './pages.ts';
import { isForMachines } from './path.ts';
import { Problem, problemOf, problemResponse, UNFORESEEN } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { addRoutes, type Ctx, type Env, noRoute, type Route } from './route.ts';
import type { Caller } from './tokens.ts';

export interface Identity {
  caller: Caller;
  /** The id of the session that they come from, if they do. */
  session?: string;
  /** Without a session: who the same request is of now. Errors: as at its beginning, once its token is revoked or expired. */
  now?: () => Caller;
}

export interface Guards extends Pick<HttpDeps, 'clock' | 'hosts' | 'publicUrl' | 'log'> {
  metrics: Pick<HttpDeps['metrics'], 'answered'>;
  rates: RateLimit;
  /** Who asks, as far as the path is not open to anybody. Errors: Problem 401. */
  identify(context: Ctx): Identity | undefined | Promise<Identity | undefined>;
  /** With pages, the paths that are not for machines are theirs, also the errors there. */
  pages: Pick<Pages, 'problem'> | undefined;
  document: DocumentSource;
  /** The refusal for a path that no route has. */
  absent?(context: Ctx): Problem;
}

export function guardedApp(guards: Guards, routes: readonly Route[]): Hono<Env> {
  const { clock, pages, rates } = guards;
  const app = new Hono<Env>({
    getPath: (request, options) => pathWithin(request, (options as { env?: Env['Bindings'] } | undefined)?.env?.mount),
  });
  const isPage = (path: string) => pages !== undefined && !isForMachines(path);
  const answerProblem = async (problem: Problem, context: Ctx): Promise<Response> => {
    const instance = sentPath(context);
    if (!pages || !isPage(context.req.path)) return problemResponse(problem, instance);
    try {
      return await pages.problem(problem, context);
    } catch (error) {
      return problemResponse(foreseen(guards, error), instance);
    }
  };
  app.use(async (context, next) => {
    const startedMs = clock.monotonicMs();
    context.set('document', guards.document);
    await next();
    const { headers } = context.res;
    const ours = isPage(context.req.path) ? PAGE_HEADERS : SECURITY_HEADERS;
    for (const [name, value] of Object.entries(ours)) if (!headers.has(name)) headers.set(name, value);
    const ms = clock.monotonicMs() - startedMs;
    const { method } = context.req;
    guards.metrics.answered({ method, route: context.var.route, status: context.res.status, ms });
    logRequest(guards, context, ms);
  });
  app.use(async (context, next) => {
    demandHost(context, guards.hosts);
    await next();
  });
  app.use(async (context, next) => {
    const { caller, session, now } = (await identified(guards, context)) ?? {};
    if (caller) context.set('caller', caller);
    if (session !== undefined) context.set('session', session);
    if (now) context.set('callerNow', now);
    rates.demand(context);
    await next();
  });
  // After the caller is known: a stranger learns nothing but that a token is needed.
  app.use(async (context, next) => {
    demandShortBody(context);
    await next();
  });
  addRoutes(
    app,
    routes.map((route) => (isPage(route.path) ? guardedPage(route, guards) : guarded(route))),
  );
  app.notFound((context) => {
    const { method, path } = context.req;
    const refusal = noRoute(routes, method, path);
    return answerProblem((refusal.status === 404 && guards.absent?.(context)) || refusal, context);
  });
  app.onError((error, context) => answerProblem(foreseen(guards, error), context));
  return app;
}

async function identified({ identify, rates }: Guards, context: Ctx): Promise<Identity | undefined> {
  try {
    return await identify(context);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) rates.countFailure(context);
    throw error;
  }
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

function foreseen({ log }: Pick<Guards, 'log'>, error: unknown): Problem {
  const problem = problemOf(error);
  if (error instanceof AppError && error.code === 'config')
    log.error({}, `a request failed, since the configuration is wrong: ${lineOf(error)}`);
  if (problem) return problem;
  const stack = error instanceof Error ? error.stack : undefined;
  log.error({ stack }, `a request failed with an unexpected error: ${lineOf(error)}`);
  return UNFORESEEN;
}

function logRequest({ log }: Pick<Guards, 'log'>, context: Ctx, ms: number): void {
  const { method } = context.req;
  const path = sentPath(context);
  const by = context.var.caller?.name;
  const { status } = context.res;
  log.debug({ method, path, status, by, ms: Math.round(ms) }, `${method} ${path}: ${status}`);
}
