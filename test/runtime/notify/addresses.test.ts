// test: which addresses count as public: none through which a webhook could reach the internal network.
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/runtime/notify/settings.ts';

describe('an address', () => {
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:169.254.169.254',
    '0:0:0:0:0:ffff:a00:1',
    '::127.0.0.1',
    '::8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '::ffff:0:7f00:1',
    '::ffff:0:8.8.8.8',
    '64:ff9b::10.1.2.3',
    '64:ff9b:1::8.8.8.8',
    '2002:808:808::1',
    '100::1',
    '4000::1',
    'not an address',
    '',
  ])('%s is refused', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    '93.184.216.34',
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2606:4700::1111',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

/** The registries of special-purpose addresses, beside 2000::/3, which holds all that is public in IPv6. */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

describe('every address', () => {
  const rangesOf = (family: 'ipv4' | 'ipv6', ranges: string[]): BlockList => {
    const list = new BlockList();
    for (const range of ranges) {
      const [network = '', bits] = range.split('/');
      list.addSubnet(network, Number(bits), family);
    }
    return list;
  };
  const specialV4 = rangesOf('ipv4', SPECIAL_V4);
  const specialV6 = rangesOf('ipv6', SPECIAL_V6);
  const globalV6 = rangesOf('ipv6', ['2000::/3']);

  /** Any address, or one at the edge of a range: the first and the last one, and their neighbours. */
  const near = (width: bigint, bits: number, ranges: string[], value: (network: string) => bigint) =>
    fc.oneof(
      fc.bigInt(0n, width - 1n),
      fc.tuple(fc.constantFrom(...ranges), fc.boolean(), fc.integer({ min: -2, max: 2 })).map(([range, isEnd, by]) => {
        const [network = '', prefix] = range.split('/');
        const size = 1n << BigInt(bits - Number(prefix));
        return (value(network) + (isEnd ? size : 0n) + BigInt(by) + width) % width;
      }),
    );
  const anyV4 = near(1n << 32n, 32, SPECIAL_V4, (text) =>
    text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n),
  );
  const anyV6 = near(1n << 128n, 128, [...SPECIAL_V6, '2000::/3', '::/96', '64:ff9b:1::/48', 'fc00::/7'], (text) => {
    const [head = '', tail = ''] = text.split('::');
    const groups = [head, tail].map((half) => half.split(':').filter(Boolean));
    const zeros = Array<string>(8 - groups.flat().length).fill('0');
    return [...(groups[0] ?? []), ...zeros, ...(groups[1] ?? [])].reduce(
      (sum, part) => sum * 65_536n + BigInt(`0x${part}`),
      0n,
    );
  });
  const v4 = (value: bigint) => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const v6 = (value: bigint) =>
    [7n, 6n, 5n, 4n, 3n, 2n, 1n, 0n].map((at) => ((value >> (at * 16n)) & 65_535n).toString(16)).join(':');

  it('of IPv4 is public outside of the special ranges alone, also mapped or behind NAT64', () => {
    fc.assert(
      fc.property(anyV4, (value) => {
        const address = v4(value);
        const expected = !specialV4.check(address, 'ipv4');
        expect(isPublicAddress(address)).toBe(expected);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(expected);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(expected);
        expect(isPublicAddress(`::${address}`)).toBe(false);
        expect(isPublicAddress(`::ffff:0:${address}`)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of IPv6 is public within 2000::/3 alone, outside of the special ranges', () => {
    fc.assert(
      fc.property(anyV6, (value) => {
        const address = v6(value);
        fc.pre(!/^(0:0:0:0:0:ffff|64:ff9b:0:0:0:0):/.test(address));
        expect(isPublicAddress(address)).toBe(globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6'));
      }),
      { numRuns: 2_000 },
    );
  });
});
