// http: the refusal of a host that is not ours. In: a request. Out: nothing, or a problem.
import { type HostPolicy, refuseHost } from '../domain/hosts.ts';
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

const CLOSE = { headers: { Connection: 'close' } };

/** Errors: Problem 421 for a host that is not ours, 400 for one that is not a host at all. */
export function demandHost({ req }: Ctx, policy: HostPolicy): void {
  const refusal = refuseHost({ header: req.header('host'), url: req.url }, policy);
  if (!refusal) return;
  if (refusal.kind === 'malformed')
    throw new Problem(400, 'bad-host', 'The Host header is wrong', 'the Host header is not a host', CLOSE);
  throw new Problem(
    421,
    'misdirected',
    'This host is not served here',
    `\`${refusal.name}\` is not an allowed host: call the endpoint by its own address, or add the name to TRUSTWARD_ALLOWED_HOSTS`,
    CLOSE,
  );
}
