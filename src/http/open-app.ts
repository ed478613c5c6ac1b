// http: listeners beside the endpoint, without a token, for the hosts that are ours: the metrics of a daemon, and those of a worker with its health.
// In: their ports. Out: a Hono app. It shows nothing else, and says so as the endpoint does.
import { Hono } from 'hono';
import { lineOf } from '../domain/errors.ts';
import type { HostPolicy } from '../domain/hosts.ts';
import type { HttpDeps, MetricsPort } from './deps.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { demandHost } from './hosts.ts';
import { problemOf, problemResponse, UNFORESEEN } from './problem.ts';
import { addRoutes, type Env, noRoute, type Route } from './route.ts';
import { healthRoutes } from './routes/health.ts';
import { metricsRoute } from './routes/metrics.ts';

type MetricsDeps = Pick<HttpDeps, 'log'> & { metrics: Pick<MetricsPort, 'contentType' | 'text'> };
export type WorkerDeps = MetricsDeps & Pick<HttpDeps, 'readiness'>;

export function createMetricsApp(deps: MetricsDeps, hosts: HostPolicy): Hono<Env> {
  return openApp([metricsRoute(deps)], deps, hosts);
}

export function createWorkerApp(deps: WorkerDeps, hosts: HostPolicy): Hono<Env> {
  const health = healthRoutes({ demo: false, readiness: () => deps.readiness() });
  return openApp([...health, metricsRoute(deps)], deps, hosts);
}

function openApp(guarded: readonly Route[], { log }: Pick<HttpDeps, 'log'>, hosts: HostPolicy): Hono<Env> {
  const app = new Hono<Env>();
  const routes = guarded.map((route) => ({ ...route, scope: undefined }));
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.res.headers.set(name, value);
  });
  app.use(async (context, next) => {
    demandHost(context, hosts);
    await next();
  });
  addRoutes(app, routes);
  app.notFound(({ req }) => problemResponse(noRoute(routes, req.method, req.path), req.path));
  app.onError((error, { req }) => {
    const problem = problemOf(error);
    if (!problem) log.error({}, `\`${req.path}\` could not be answered: ${lineOf(error)}`);
    return problemResponse(problem ?? UNFORESEEN, req.path);
  });
  return app;
}
