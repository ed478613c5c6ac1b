// base: the allow-list of hosts of a server. In: the host that a request names, and our own names. Out: why it is not
// served, or nothing. A stranger's page can point its own name at our address (DNS rebinding); Host and Origin then both
// have that name, and only a list of our own names exposes it.
import { isIP } from 'node:net';

export interface HostPolicy {
  /** The address to listen on: `127.0.0.1`, `0.0.0.0`, `::`, or a name. */
  listenHost: string;
  /** Other names of the server, such as that of a proxy. */
  allowed: readonly string[];
}

type HostRefusal = { kind: 'malformed' } | { kind: 'foreign'; name: string };

/** Of this machine, whatever answers there. `host`: a name or an address, that of IPv6 in brackets or without. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '']);

/** A request names its host in the header, and in its URL when that is whole: undefined when both are ours. */
export function refuseHost(request: { header: string | undefined; url: string }, policy: HostPolicy) {
  const inUrl = URL.parse(request.url)?.host ?? '';
  return refuseName(request.header ?? inUrl, policy) ?? refuseName(inUrl, policy);
}

/** @param host `name`, `name:port` or `[::1]:port`. */
function refuseName(host: string, policy: HostPolicy): HostRefusal | undefined {
  const name = hostName(host);
  if (name === undefined) return { kind: 'malformed' };
  return isOurs(name, policy) ? undefined : { kind: 'foreign', name };
}

/** Names as in the environment or a flag: separated by commas. */
export function hostsIn(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((host) => host.trim())
    .filter(Boolean);
}

function isOurs(name: string, { listenHost, allowed }: HostPolicy): boolean {
  const ownAddress = bare(listenHost);
  if (LOOPBACK.has(name) || name === ownAddress) return true;
  if (allowed.some((host) => bare(host) === name)) return true;
  // An address cannot be rebound; a server on all addresses may be called by any of them.
  return ANY_ADDRESS.has(ownAddress) && isIP(name) !== 0;
}

function hostName(host: string): string | undefined {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host);
  return parts?.[1] === undefined ? undefined : bare(parts[1]);
}

/** One form for each name and address: lower case, no brackets, no final dot, IPv6 as short as it can be. */
function bare(host: string): string {
  const isAddress = isIP(host) === 6;
  const name = URL.parse(`http://${isAddress ? `[${host}]` : host}`)?.hostname ?? host.toLowerCase();
  return name.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}
