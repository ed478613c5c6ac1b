// http: the public part: whether the process lives, whether it can work, and where to go from here.
import { z } from 'zod';
import type { HttpDeps, MetricsPort, ReadyCheck } from '../deps.ts';
import { baseOf, METRICS_PATH, OPENAPI_PATH } from '../mount.ts';
import { type Ctx, type DocumentSource, json, operation, type Route } from '../route.ts';

const readiness = z
  .strictObject({
    status: z.enum(['ready', 'not ready']),
    demo: z.boolean(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), text: z.string() })),
  })
  .meta({ id: 'Readiness' });

interface HealthParts {
  demo: boolean;
  readiness(context: Ctx): Promise<readonly ReadyCheck[]>;
}

export function healthRoutes(deps: HealthParts): Route[] {
  return [
    operation({
      method: 'GET',
      path: '/healthz',
      scope: undefined,
      operationId: 'healthz',
      tag: 'health',
      summary: 'Show whether the process lives',
      answers: { 200: { description: 'it lives', schema: z.strictObject({ status: z.literal('ok') }) } },
      handle: () => json({ status: 'ok' }),
    }),
    operation({
      method: 'GET',
      path: '/readyz',
      scope: undefined,
      operationId: 'readyz',
      tag: 'health',
      summary: 'Show whether it can do its work',
      answers: {
        200: { description: 'every check is ok', schema: readiness },
        503: { description: 'a check is not ok', schema: readiness },
      },
      handle: (context) => reportReadiness(deps, context),
    }),
  ];
}

/** Where to go from here, when there is no page for people. */
export function pointerRoute({ demo }: Pick<HttpDeps, 'demo'>): Route {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
  return { method: 'GET', path: '/', scope: undefined, handle: () => new Response(pointer(demo), { headers }) };
}

async function reportReadiness(deps: HealthParts, context: Ctx): Promise<Response> {
  const found = await deps.readiness(context);
  const ready = found.every(({ ok, isPartial }) => ok || isPartial === true);
  const checks = found.map(({ name, ok, text }) => ({ name, ok, text }));
  return json({ status: ready ? 'ready' : 'not ready', demo: deps.demo, checks }, ready ? 200 : 503);
}

function pointer(demo: boolean): string {
  return `Trustward${demo ? ' (DEMO: against its own embedded console)' : ''}

  GET  /readyz                          whether it can do its work
  GET  /openapi.json                    every path, with its input and answers
  GET  /api/runs                        what it did
  GET  /api/runs/latest/report?format=md  the last report (json, md, text, csv, html)
  POST /api/runs {"mode": "dry-run"}    a run now
  GET  /api/decisions                   what it decided, and why

All under /api needs \`Authorization: Bearer TOKEN\`.
`;
}

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

export function openapiRoute(document: DocumentSource): Route {
  return operation({
    method: 'GET',
    path: OPENAPI_PATH,
    scope: undefined,
    operationId: 'getOpenapi',
    tag: 'health',
    summary: 'Read this document',
    answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
    handle: async (context) => json({ ...(await document()), servers: [{ url: baseOf(context) || '/' }] }),
  });
}
