// test: one delivery over real https: signed, only to checked addresses, never redirected; and the webhooks' settings.
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Notification } from '../../../src/domain/notification.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import type { MayLack } from '../../../src/runtime/config/name-reader.ts';
import { deliver } from '../../../src/runtime/notify/delivery.ts';
import { isPublicAddress, type Webhook } from '../../../src/runtime/notify/settings.ts';
import { CERTIFICATE, type Received, type Receiver, startReceiver } from '../../support/receiver.ts';

describe('one delivery over real https', () => {
  const NOW_MS = 1_800_000_000_000;
  const SECRET = 'a secret of some length';
  const NOTIFICATION: Notification = {
    id: 'd1',
    to: 'ops',
    kind: 'notify',
    at: NOW_MS,
    text: 'rule: target',
    about: { matches: [{ facts: { at: 1768478400123456789n } }] },
  };
  const never = new AbortController().signal;

  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  function webhook(more: Partial<Webhook> = {}, host = 'localhost'): Webhook {
    return {
      name: 'ops',
      url: new URL(`https://${host}:${receiver.port}/hook?key=1`),
      secret: SECRET,
      timeoutMs: 60_000,
      attemptsMax: 3,
      allowPrivate: true,
      ca: CERTIFICATE,
      ...more,
    };
  }

  describe('a webhook', () => {
    it('gets a signed body of a stable form, with the id of the delivery', async () => {
      expect(await deliver(webhook(), NOTIFICATION, NOW_MS, never)).toEqual({
        ok: true,
        note: 'status 200',
        status: 200,
      });
      const [{ path, headers, body } = {} as Received] = receiver.received;
      expect(path).toBe('/hook?key=1');
      expect(JSON.parse(body)).toEqual({
        version: 1,
        delivery: 'd1',
        kind: 'notify',
        at: new Date(NOW_MS).toISOString(),
        text: 'rule: target',
        about: { matches: [{ facts: { at: '1768478400123456789' } }] },
      });
      const mac = createHmac('sha256', SECRET).update(`1800000000.${body}`).digest('hex');
      expect(headers['x-trustward-signature']).toBe(`t=1800000000,v1=${mac}`);
      expect(headers['x-trustward-delivery']).toBe('d1');
      expect(headers.host).toBe(`localhost:${receiver.port}`);
    });

    it('on loopback is not even connected to without allowPrivate', async () => {
      const result = await deliver(webhook({ allowPrivate: false }), NOTIFICATION, NOW_MS, never);
      expect(result).toEqual({ ok: false, note: expect.stringContaining('not a public address') });
      expect(receiver.received).toEqual([]);
    });

    it('whose name has one private address among public ones is refused', async () => {
      const resolve = async () => [
        { address: '93.184.216.34', family: 4 },
        { address: '::ffff:10.0.0.1', family: 6 },
      ];
      const given = webhook({ allowPrivate: false }, 'hooks.example');
      const result = await deliver(given, NOTIFICATION, NOW_MS, never, resolve);
      expect(result).toEqual({
        ok: false,
        note: '`hooks.example` resolves to ::ffff:10.0.0.1, which is not a public address',
      });
    });

    it('is connected to at the address that was checked, and its name is not resolved again', async () => {
      let asked = 0;
      const resolve = async () => {
        asked += 1;
        return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
      };
      const result = await deliver(webhook({}, 'hooks.example'), NOTIFICATION, NOW_MS, never, resolve);
      expect(result).toEqual({ ok: true, note: 'status 200', status: 200 });
      expect(asked).toBe(1);
      expect(receiver.received[0]?.headers.host).toBe(`hooks.example:${receiver.port}`);
    });

    it('that redirects is not followed', async () => {
      receiver.answers.push(307);
      const result = await deliver(webhook(), NOTIFICATION, NOW_MS, never);
      expect(result).toEqual({ ok: false, note: 'status 307: a redirect, which is not followed', status: 307 });
      expect(receiver.received).toHaveLength(1);
    });

    it('that does not answer is given up in time', async () => {
      receiver.answers.push('hang');
      const result = await deliver(webhook({ timeoutMs: 200 }), NOTIFICATION, NOW_MS, never);
      expect(result).toEqual({ ok: false, note: 'no answer within 200 ms' });
    });

    it.each([400, 404, 500])('that answers %d has not accepted it', async (status) => {
      receiver.answers.push(status);
      expect(await deliver(webhook(), NOTIFICATION, NOW_MS, never)).toEqual({
        ok: false,
        note: `status ${status}`,
        status: status,
      });
    });

    it('with an untrusted certificate, or one for another name, gets nothing', async () => {
      expect(await deliver(webhook({ ca: undefined }), NOTIFICATION, NOW_MS, never)).toMatchObject({ ok: false });
      const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
      const other = await deliver(webhook({}, 'other.example'), NOTIFICATION, NOW_MS, never, resolve);
      expect(other).toMatchObject({ ok: false });
      expect(receiver.received).toEqual([]);
    });
  });
});

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

describe("the webhooks' configuration", () => {
  const SECRET = 'canary-secret-of-a-webhook';
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-'));
    writeFileSync(join(dir, 'secret'), `${SECRET}\n`);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  function read(text: string, env: Record<string, string> = {}, name = 'webhooks.yaml', mayLack: MayLack = []) {
    const file = join(dir, name);
    writeFileSync(file, text);
    const base = {
      TRUSTWARD_WEBHOOKS: file,
      TRUSTWARD_WEBHOOK_HOSTS: 'hooks.example.com, 10.0.0.1',
      OPS_SECRET: SECRET,
    };
    return readConfig({ ...base, ...env }, {}, undefined, mayLack).notify;
  }

  describe('the webhooks', () => {
    it('whose secret cannot be read, or cannot be one, have none for who may lack secrets; other mistakes stay mistakes', () => {
      const ops = (secretFile: string, more = '') =>
        `ops: { url: "https://hooks.example.com/a", secretFile: ${join(dir, secretFile)}${more} }`;
      writeFileSync(join(dir, 'short'), 'short\n');
      for (const name of ['short', 'gone']) {
        for (const lack of ['secrets', 'webhook_secrets'] as const)
          expect(read(ops(name), {}, 'webhooks.yaml', [lack]).webhooks.get('ops')?.secret).toBe('');
        expect(() => read(ops(name), {}, 'webhooks.yaml', ['webhooks'])).not.toThrow();
        expect(() => read(ops(name))).toThrow('webhook `ops`');
      }
      expect(() => read(ops('gone', ', timeout: soon'), {}, 'webhooks.yaml', ['secrets'])).toThrow('timeout is `soon`');
    });

    it.each([
      ['a file that is no YAML', 'ops: ['],
      ['an address that is not allowed', 'ops: { url: "https://evil.example.com/x", secretEnv: OPS_SECRET }'],
    ])('with %s are none for who may lack webhooks, and nobody is alerted through them', (_, text) => {
      const env = { TRUSTWARD_ALERTS_TO: 'ops' };
      expect(read(text, env, 'webhooks.yaml', ['secrets', 'webhooks'])).toMatchObject({
        webhooks: new Map(),
        alertsTo: [],
      });
      expect(() => read(text, env, 'webhooks.yaml', ['secrets'])).toThrow();
    });

    it('are read from YAML and from JSON, with secrets from a file or the environment', () => {
      const yaml = `ops: { url: "https://hooks.example.com/a", secretFile: ${join(dir, 'secret')}, timeout: 3s, attempts: 4 }`;
      expect(read(yaml).webhooks.get('ops')).toMatchObject({ secret: SECRET, timeoutMs: 3_000, attemptsMax: 4 });
      const json = '{ "ops": { "url": "https://hooks.example.com:8443/a", "secretEnv": "OPS_SECRET" } }';
      const { webhooks, alertsTo, silenceMs } = read(json, { TRUSTWARD_ALERTS_TO: 'ops' }, 'webhooks.json');
      expect(webhooks.get('ops')).toMatchObject({ secret: SECRET, timeoutMs: 10_000, allowPrivate: false });
      expect(alertsTo).toEqual(['ops']);
      expect(silenceMs).toBe(1_800_000);
    });

    it('name the events and rules that they receive, and how many at once', () => {
      const more = 'events: [decision, outcome], rules: [ban], batch: { most: 5, wait: 1m }, schema: ocsf';
      const ops = `url: "https://hooks.example.com/a", secretEnv: OPS_SECRET`;
      const feed = { events: ['decision', 'outcome'], rules: ['ban'], most: 5, waitMs: 60_000, schema: 'ocsf' };
      expect(read(`ops: { ${ops}, ${more} }`).webhooks.get('ops')?.feed).toEqual(feed);
      const defaults = { events: ['outcome'], rules: undefined, most: 100, waitMs: 10_000 };
      expect(read(`ops: { ${ops}, events: [outcome] }`).webhooks.get('ops')?.feed).toEqual(defaults);
      expect(read(`ops: { ${ops} }`).webhooks.get('ops')?.feed).toBeUndefined();
    });

    it.each([
      ['events: [alert]', 'ops.events.0'],
      ['events: []', 'ops.events'],
      ['rules: [ban]', 'rules is set but events is not'],
      ['batch: { most: 5 }', 'batch is set but events is not'],
      ['schema: ocsf', 'schema is set but events is not'],
      ['events: [decision], schema: cef', 'ops.schema'],
      ['events: [decision], batch: { most: 0 }', 'ops.batch.most'],
      ['events: [decision], batch: { wait: 2h }', 'batch.wait is `2h`: expected'],
      ['events: [decision], batch: { wait: soon }', 'batch.wait is `soon`: expected'],
    ])('that receive events are refused with %s', (more, problem) => {
      const text = `ops: { url: "https://hooks.example.com/a", secretEnv: OPS_SECRET, ${more} }`;
      expect(() => read(text)).toThrow(problem);
    });

    it.each([
      ['ops: { url: "http://hooks.example.com/x", secretEnv: OPS_SECRET }', 'begins with https://'],
      ['ops: { url: "https://evil.example.com/x", secretEnv: OPS_SECRET }', 'not among TRUSTWARD_WEBHOOK_HOSTS'],
      ['ops: { url: "https://10.0.0.1/x", secretEnv: OPS_SECRET }', '10.0.0.1 is not a public address'],
      ['ops: { url: "https://a:b@hooks.example.com/x", secretEnv: OPS_SECRET }', 'holds a user name or password'],
      ['ops: { url: "https://hooks.example.com/x" }', 'secretFile or in secretEnv'],
      ['ops: { url: "https://hooks.example.com/x", secretEnv: NONE }', 'NONE is not set'],
      ['ops: { url: "https://hooks.example.com/x", secretFile: /nowhere }', 'cannot be read (ENOENT)'],
      ['ops: { url: "https://hooks.example.com/x", secretEnv: OPS_SECRET, timeout: 1h }', 'at most 60s'],
      ['ops: { url: "https://hooks.example.com/x", secretEnv: OPS_SECRET, more: 1 }', 'ops'],
      ['ops: [', 'is not valid YAML'],
    ])('of %s are refused', (text, problem) => {
      expect(() => read(text)).toThrow(problem);
      expect(() => read(text)).not.toThrow(SECRET);
    });

    it.each([
      ['https://tw.example.com/', 'https://tw.example.com'],
      ['http://10.0.0.1:8080/base', 'http://10.0.0.1:8080/base'],
    ])('link to pages under %s', (given, publicUrl) => {
      expect(readConfig({ TRUSTWARD_PUBLIC_URL: given }).notify).toMatchObject({ publicUrl });
    });

    it.each([
      ['tw.example.com', 'expected an address'],
      ['ftp://tw.example.com', 'expected an address'],
      ['https://tw.example.com/?a=1', 'without query or fragment'],
      ['https://tw.example.com/#a', 'without query or fragment'],
      [`https://ada:${SECRET}@tw.example.com`, 'holds a user name or password'],
    ])('link nowhere under %s', (given, problem) => {
      const reading = () => readConfig({ TRUSTWARD_PUBLIC_URL: given });
      expect(reading).toThrow(problem);
      expect(reading).not.toThrow(SECRET);
    });

    it('named for alerts must exist', () => {
      expect(() => readConfig({ TRUSTWARD_ALERTS_TO: 'ops' })).toThrow('TRUSTWARD_ALERTS_TO names `ops`');
    });
  });
});
