// notify: one request over https, only to addresses that were checked, never redirected. In: a destination, a method, headers, a body. Out:
// whether it was accepted. It never throws, and its note never repeats the path, which often holds a secret.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError, lineOf } from '../../domain/errors.ts';

// The addresses that a webhook may reach. In: a host name, resolved here. Out: its addresses, all of them public.
// INVARIANT: exactly these addresses are connected to; resolving the name again could give others.

/** The only public addresses of IPv6. All others are special, or not given to anyone. */
const PUBLIC_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** `::1.2.3.4` is not mapped, but the library reads it as if it were. */
const COMPATIBLE = /^::[^:]+\./;
/** A gateway passes these on to the IPv4 address in their last four bytes. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether an address is on the public internet. An IPv4 address that is mapped (`::ffff:…`) or behind NAT64 counts as
 * itself. Every other form that leads to an IPv4 address is refused.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || COMPATIBLE.test(text)) return false;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === 'unicast';
  return address.range() === 'unicast' && address.match(PUBLIC_V6);
}

export type Resolve = (host: string) => Promise<LookupAddress[]>;

const resolveBySystem: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/**
 * All addresses of a host. Errors: AppError `usage` when any of them is not public and that is not allowed: a name with
 * one public and one private address is an attack or a mistake, so it is not used.
 */
export async function publicAddressesOf(
  host: string,
  allowPrivate: boolean,
  resolve: Resolve = resolveBySystem,
): Promise<LookupAddress[]> {
  const addresses = await resolve(host.replace(/^\[|\]$/g, ''));
  const refused = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (refused) throw new AppError('usage', `\`${host}\` resolves to ${refused.address}, which is not a public address`);
  if (addresses.length === 0) throw new AppError('usage', `\`${host}\` has no address`);
  return addresses;
}

export type Delivery = { ok: boolean; note: string };

export interface Destination {
  url: URL;
  timeoutMs: number;
  /** Loopback and private addresses may be connected to. */
  allowPrivate: boolean;
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
}

interface Sent {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
}

/** The note describes the failure. Only the status of the answer counts. */
export async function sendChecked(
  destination: Destination,
  sent: Sent,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(destination.timeoutMs)]);
  try {
    const { hostname } = destination.url;
    const addresses = await within(limit, publicAddressesOf(hostname, destination.allowPrivate, resolve));
    const checked: LookupFunction = (_host, options, done) =>
      options.all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family);
    const status = await statusOf(destination, sent, checked, limit);
    if (status >= 200 && status < 300) return { ok: true, note: `status ${status}` };
    const redirect = status >= 300 && status < 400 ? ': a redirect, which is not followed' : '';
    return { ok: false, note: `status ${status}${redirect}` };
  } catch (error) {
    const isLate = limit.aborted && !signal.aborted;
    return { ok: false, note: isLate ? `no answer within ${destination.timeoutMs} ms` : faultWords(error) };
  }
}

/** A name server that does not answer ends the attempt in time. */
function within<T>(limit: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(limit.reason);
    if (limit.aborted) late();
    limit.addEventListener('abort', late, { once: true });
    work.then(resolve, reject).finally(() => limit.removeEventListener('abort', late));
  });
}

function statusOf(
  { url, ca }: Destination,
  { method, headers, body }: Sent,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<number> {
  // A connection of its own: a kept one could lead to an address that was checked long ago. The receiver proves its
  // identity, whatever the environment says of certificates.
  const agent = new Agent({ keepAlive: false, ca, rejectUnauthorized: true });
  const options: RequestOptions = { method, headers, lookup, agent, signal };
  return new Promise((resolve, reject) => {
    const sending = request(url, options, (answer: IncomingMessage) => {
      answer.on('error', () => {}); // its body is ignored
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

function faultWords(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return [code, lineOf(error)].filter(Boolean).join(': ');
}
