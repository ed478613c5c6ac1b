// http: the metrics as text for Prometheus.
import type { MetricsPort } from '../deps.ts';
import { operation } from '../operation.ts';
import { METRICS_PATH } from '../path.ts';
import type { Route } from '../route.ts';

export function metricsRoute({ metrics }: { metrics: Pick<MetricsPort, 'contentType' | 'text'> }): Route {
  return operation({
    method: 'GET',
    path: METRICS_PATH,
    scope: 'read',
    operationId: 'getMetrics',
    tag: 'health',
    summary: 'Read the metrics',
    description: 'Text for Prometheus. docs/metrics.md lists the names. What is not known is absent, not 0.',
    answers: { 200: { description: 'the metrics', types: ['text/plain'] } },
    handle: async () => new Response(await metrics.text(), { headers: { 'Content-Type': metrics.contentType } }),
  });
}
