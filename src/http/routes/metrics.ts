// http: the metrics as text for Prometheus.
import type { HttpDeps } from '../deps.ts';
import { METRICS_PATH } from '../path.ts';
import type { Route } from '../route.ts';

export function metricsRoute({ metrics }: Pick<HttpDeps, 'metrics'>): Route {
  return {
    method: 'GET',
    path: METRICS_PATH,
    scope: 'read',
    handle: async () => new Response(await metrics.text(), { headers: { 'Content-Type': metrics.contentType } }),
  };
}
