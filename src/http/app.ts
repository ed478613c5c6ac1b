// http: the endpoint of one organization, put together: its routes, who may ask them, and what is answered once. In: the ports. Out: a
// Hono app, which stands alone or is mounted among others.
import type { Hono } from 'hono';
import { USER_HEADER } from '../domain/actor.ts';
import { callerOf, namingUser } from './auth.ts';
import type { HttpDeps } from './deps.ts';
import type { DocumentSource } from './described.ts';
import { guardedApp, type Identity } from './guarded-app.ts';
import { Idempotency, takesKey } from './idempotency.ts';
import { lostAnswers } from './lost-answers.ts';
import type { Pages } from './pages.ts';
import { isAsset, isForMachines, isWithToken, STREAM_PATH } from './path.ts';
import { RateLimit } from './rate-limit.ts';
import type { Ctx, Env, Route } from './route.ts';
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

/**
 * The endpoint. Everything under `/api`, and `/metrics`, needs a bearer token; its errors never carry a secret or a stack trace. With pages, the other
 * paths are theirs, also the errors there.
 */
export function createHttpApp(deps: HttpDeps, pages?: Pages): Hono<Env> {
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
    ...(pages
      ? [
          ...pages.routes,
          ...signInRoutes({ signInAt: () => deps.signIn, opensByCommand: deps.isDaemon, log: deps.log }),
        ]
      : [pointerRoute(deps)]),
  ];
  const document = documentSource(routes);
  const keys = new Idempotency(deps, lostAnswers(deps));
  const rates = deps.rates ?? new RateLimit(deps.clock, deps.rateLimits);
  return guardedApp(
    { ...deps, rates, pages, document, identify: (context) => identify(deps, pages !== undefined, context) },
    routes.map((route) => (takesKey(route) ? keys.once(route) : route)),
  );
}

/** A session opens pages and the stream, a token the rest. Errors: Problem 401; AppError `store_failed` when nobody can say. */
async function identify(
  deps: Pick<HttpDeps, 'signIn' | 'verifyToken'>,
  hasPages: boolean,
  { req }: Ctx,
): Promise<Identity | undefined> {
  const authorization = req.header('authorization');
  const isPage = hasPages && !isForMachines(req.path) && !isAsset(req.path);
  const mayBeSession = isPage || (req.path === STREAM_PATH && authorization === undefined);
  const session = mayBeSession ? await deps.signIn.callerOf(req.header('cookie')) : undefined;
  if (session) return { caller: session.caller, session: session.id };
  if (!isWithToken(req.path)) return undefined;
  const now = () => namingUser(callerOf(authorization, deps), req.header(USER_HEADER));
  return { caller: now(), now };
}

/** The library that makes it is loaded when it is first asked for. */
export function documentSource(routes: readonly Route[]): DocumentSource {
  let made: ReturnType<DocumentSource> | undefined;
  const make = async () => (await import('./document.ts')).documentOf(routes);
  return () => (made ??= make());
}
