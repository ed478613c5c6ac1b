// http: the public part: whether the process lives, whether it can work, and where to go from here.
import type { HttpDeps } from '../deps.ts';
import { json, type Route } from '../route.ts';

export function healthRoutes(deps: HttpDeps): Route[] {
  const open = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, scope: undefined, handle });
  return [open('/healthz', () => json({ status: 'ok' })), open('/readyz', () => reportReadiness(deps))];
}

/** Where to go from here, when there is no page for people. */
export function pointerRoute({ demo }: Pick<HttpDeps, 'demo'>): Route {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
  return { method: 'GET', path: '/', scope: undefined, handle: () => new Response(pointer(demo), { headers }) };
}

async function reportReadiness(deps: HttpDeps): Promise<Response> {
  const checks = await deps.readiness();
  const ready = checks.every((check) => check.ok);
  return json({ status: ready ? 'ready' : 'not ready', demo: deps.demo, checks }, ready ? 200 : 503);
}

function pointer(demo: boolean): string {
  return `Trustward${demo ? ' (DEMO: against its own embedded console)' : ''}

  GET  /readyz                          whether it can do its work
  GET  /api/runs                        what it did
  GET  /api/runs/latest/report?format=md  the last report (json, md, text, csv, html)
  POST /api/runs {"mode": "dry-run"}    a run now
  GET  /api/decisions                   what it decided, and why

All under /api needs \`Authorization: Bearer TOKEN\`.
`;
}
