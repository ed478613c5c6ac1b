// console: serves its own names alone. In: any request, before all else. Out: 421 for a host that is not ours, 400 for
// one that is none; a stranger's page could reach the organization with either (domain/hosts.ts).
import type { Hono } from 'hono';
import { type HostPolicy, refuseHost } from '../domain/hosts.ts';
import { jsonResponse } from './answer.ts';
import { errorText } from './refusal.ts';

/** Must be called before any route is added. */
export function addHostCheck(app: Hono, policy: HostPolicy): void {
  app.use('*', async ({ req }, next) => {
    const refusal = refuseHost({ header: req.header('host'), url: req.url }, policy);
    if (!refusal) return next();
    if (refusal.kind === 'malformed')
      return jsonResponse(400, errorText(req.path, 400, 'the Host header is not a host'));
    const message = `\`${refusal.name}\` is not an allowed host: call the console by its own address, or start it with --allowed-hosts`;
    return jsonResponse(421, errorText(req.path, 421, message));
  });
}
