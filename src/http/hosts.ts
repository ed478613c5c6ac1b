// http: the allow-list of hosts. A stranger's page can point its own name at our address (DNS rebinding); Host and
// Origin then both have that name, and only a list of our own names exposes it.
import { isIP } from 'node:net';
import type { HostPolicy } from './deps.ts';
import { Problem } from './problem.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '']);

/** Errors: Problem 421 for a host that is not ours, 400 for one that is not a host at all. */
export function demandHost(hostHeader: string, policy: HostPolicy): void {
  const name = hostName(hostHeader);
  if (name === undefined)
    throw new Problem(400, 'bad-host', 'The Host header is wrong', 'the Host header is not a host');
  if (isOurs(name, policy)) return;
  throw new Problem(
    421,
    'misdirected',
    'This host is not served here',
    `\`${name}\` is not an allowed host: call the endpoint by its own address, or add the name to TRUSTWARD_ALLOWED_HOSTS`,
  );
}

function isOurs(name: string, { listenHost, allowed }: HostPolicy): boolean {
  if (LOOPBACK.has(name) || name === bare(listenHost)) return true;
  if (allowed.some((host) => bare(host) === name)) return true;
  // An address cannot be rebound; an endpoint on all addresses may be called by any of them.
  return ANY_ADDRESS.has(bare(listenHost)) && isIP(name) !== 0;
}

/** The name in `name:port` or `[::1]:port`, in lower case. */
function hostName(header: string): string | undefined {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(header);
  return parts?.[1] === undefined ? undefined : bare(parts[1]);
}

function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
