// http: the listener of the metrics alone: one path, without a token, for the hosts that are ours. In: the port of the metrics. Out: a Hono
// app. It shows nothing else, and says so as the endpoint does.
import { Hono } from 'hono';
import { lineOf } from '../domain/errors.ts';
import type { HostPolicy } from '../domain/hosts.ts';
import type { HttpDeps } from './deps.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { demandHost } from './hosts.ts';
import { problemOf, problemResponse, UNFORESEEN } from './problem.ts';
import { addRoutes, type Env, noRoute } from './route.ts';
import { metricsRoute } from './routes/metrics.ts';

export function createMetricsApp(deps: Pick<HttpDeps, 'metrics' | 'log'>, hosts: HostPolicy): Hono<Env> {
  const app = new Hono<Env>();
  const routes = [{ ...metricsRoute(deps), scope: undefined }];
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
    if (!problem) deps.log.error({}, `the metrics could not be written: ${lineOf(error)}`);
    return problemResponse(problem ?? UNFORESEEN, req.path);
  });
  return app;
}
