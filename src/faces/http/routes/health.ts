// http: the public part: whether the process lives, whether it can work, and where to go from here.
import { HEALTHZ, METRICS, OPENAPI, READYZ } from '../../../contract/endpoint.ts';
import type { HttpDeps, MetricsPort, ReadyCheck } from '../deps.ts';
import { baseOf } from '../mount.ts';
import { type Ctx, type DocumentSource, json, type Route, routeOf } from '../route.ts';

interface HealthParts {
  demo: boolean;
  readiness(context: Ctx): Promise<readonly ReadyCheck[]>;
}

export function healthRoutes(deps: HealthParts): Route[] {
  return [routeOf(HEALTHZ, () => json({ status: 'ok' })), routeOf(READYZ, (context) => reportReadiness(deps, context))];
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
  const headers = () => ({ 'Content-Type': metrics.contentType });
  return routeOf(METRICS, async () => new Response(await metrics.text(), { headers: headers() }));
}

export function openapiRoute(document: DocumentSource): Route {
  return routeOf(OPENAPI, async (context) =>
    json({ ...(await document()), servers: [{ url: baseOf(context) || '/' }] }),
  );
}
