// notify: the addresses that a webhook may reach. In: a host name, resolved here. Out: its addresses, all of them
// public. INVARIANT: exactly these addresses are connected to; resolving the name again could give others.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv4 } from 'node:net';
import { AppError } from '../domain/errors.ts';

/** Not on the public internet (the registries of special-purpose addresses), or reaching an IPv4 address indirectly. */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const SPECIAL_V6 = [
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

const special = new BlockList();
for (const range of SPECIAL_V4) special.addSubnet(...partsOf(range), 'ipv4');
for (const range of SPECIAL_V6) special.addSubnet(...partsOf(range), 'ipv6');

function partsOf(range: string): [string, number] {
  const slash = range.indexOf('/');
  return [range.slice(0, slash), Number(range.slice(slash + 1))];
}

/** Whether an address is on the public internet. An IPv4 address inside an IPv6 one (`::ffff:…`) counts as itself. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  return !special.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
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
