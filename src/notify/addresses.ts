// notify: the addresses that a webhook may reach. In: a host name, resolved here. Out: its addresses, all of them
// public. INVARIANT: exactly these addresses are connected to; resolving the name again could give others.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import { AppError } from '../domain/errors.ts';

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
