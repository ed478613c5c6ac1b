// test: security event tokens are believed only when their signature, claims and time hold. messages.test.ts has the examples of the standards.
// In: SETs signed here by real keys. Out: the verdict on each.
import { generateKeyPairSync } from 'node:crypto';
import { CompactSign } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { SIGNAL_EVENTS, STREAM_UPDATED_EVENT, signalEventOf, VERIFICATION_EVENT } from '../../src/domain/signal.ts';
import {
  NotYet,
  readSigningKey,
  type SetVerdict,
  type SigningKey,
  signSet,
  TransmitterKeys,
  verifySet,
} from '../../src/signals/set.ts';

const NOW = Date.UTC(2026, 0, 5, 12);
const ISSUER = 'https://idp.example.com/';
const AUDIENCE = 'https://trustward.example.com';
const DAY_S = 86_400;

const newKey = (kind: 'ec' | 'rsa' | 'ed25519' = 'ec') => {
  const { privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
};

let key: SigningKey;
let keys: TransmitterKeys;
const clock = { now: 0, monotonicMs: () => clock.now };
beforeAll(async () => {
  key = await newKey();
  keys = new TransmitterKeys(async () => JSON.stringify({ keys: [key.publicKey] }), clock);
});

const claims = (more: Facts = {}): Facts => ({
  iss: ISSUER,
  aud: AUDIENCE,
  iat: NOW / 1_000,
  jti: '756E69717565206964656E746966696572',
  sub_id: { format: 'email', email: 'foo@example.com' },
  events: { [signalEventOf('session-revoked') as string]: {} },
  ...more,
});
const verify = (text: string, more = {}) =>
  verifySet(text, { issuer: ISSUER, audience: [AUDIENCE], keys, nowMs: NOW, ...more });
const refusalOf = (verdict: SetVerdict) =>
  'refused' in verdict ? [verdict.refused.reason, verdict.refused.err] : undefined;

describe('a SET', () => {
  it.each([['ec'], ['rsa'], ['ed25519']] as const)(
    'that a %s key of the transmitter signed is believed',
    async (kind) => {
      const one = await newKey(kind);
      const own = new TransmitterKeys(async () => JSON.stringify({ keys: [one.publicKey] }), clock);
      expect(await verify(await signSet(claims(), one), { keys: own })).toMatchObject({
        set: {
          jti: '756E69717565206964656E746966696572',
          event: SIGNAL_EVENTS.get('session-revoked'),
          happenedAtMs: NOW,
        },
      });
      expect(one.publicKey).not.toHaveProperty('d');
    },
  );

  it('keeps integers that no number holds', async () => {
    const verdict = await verify(
      await signSet(claims({ events: { 'urn:example:event': { id: 9_007_199_254_740_993n } } }), key),
    );
    expect(verdict).toMatchObject({ set: { body: { id: 9_007_199_254_740_993n } } });
  });

  it.each<[string, Facts, string, string]>([
    ['of another issuer', { iss: 'https://idp.example.com' }, 'issuer', 'invalid_issuer'],
    ['for another audience', { aud: ['https://other.example.com'] }, 'audience', 'invalid_audience'],
    ['for nobody', { aud: null }, 'audience', 'invalid_audience'],
    ['with `sub`', { sub: 'foo@example.com' }, 'claims', 'invalid_request'],
    ['with `exp`', { exp: NOW / 1_000 + 60 }, 'claims', 'invalid_request'],
    ['without `jti`', { jti: null }, 'claims', 'invalid_request'],
    ['with a `jti` of 256 characters', { jti: 'a'.repeat(256) }, 'claims', 'invalid_request'],
    ['issued in the future', { iat: NOW / 1_000 + 301 }, 'future', 'invalid_request'],
    ['issued 7 days and a second ago', { iat: NOW / 1_000 - 7 * DAY_S - 1 }, 'old', 'invalid_request'],
    ['without a time', { iat: '2026-01-05' }, 'claims', 'invalid_request'],
    [
      'of an event in the future',
      { events: { 'urn:e': { event_timestamp: NOW / 1_000 + 301 } } },
      'future',
      'invalid_request',
    ],
    ['without an event', { events: {} }, 'claims', 'invalid_request'],
    ['with an event that is no object', { events: { 'urn:e': 'yes' } }, 'claims', 'invalid_request'],
    ['about nobody', { sub_id: null }, 'subject', 'invalid_request'],
    ['about a subject without a format', { sub_id: { email: 'foo@example.com' } }, 'subject', 'invalid_request'],
    ['about an email without an address', { sub_id: { format: 'email' } }, 'subject', 'invalid_request'],
    ['about an empty complex subject', { sub_id: { format: 'complex' } }, 'subject', 'invalid_request'],
    [
      'about aliases in aliases',
      { sub_id: { format: 'aliases', identifiers: [{ format: 'aliases', identifiers: [] }] } },
      'subject',
      'invalid_request',
    ],
    [
      'about a complex subject in a complex one',
      { sub_id: { format: 'complex', user: { format: 'complex', user: { format: 'email', email: 'a@b.example' } } } },
      'subject',
      'invalid_request',
    ],
  ])('%s is refused', async (_, more, reason, err) => {
    expect(refusalOf(await verify(await signSet(claims(more), key)))).toEqual([reason, err]);
  });

  it('just within the bounds of time is believed', async () => {
    for (const iat of [NOW / 1_000 + 300, NOW / 1_000 - 7 * DAY_S])
      expect(await verify(await signSet(claims({ iat }), key))).toHaveProperty('set');
  });

  it('counts at the time of its event, else at `toe`, else when it was issued', async () => {
    const at = async (more: Facts) => {
      const verdict = await verify(await signSet(claims(more), key));
      return 'set' in verdict && verdict.set.happenedAtMs;
    };
    const event = (time: number) => ({ events: { 'urn:e': { event_timestamp: time } }, toe: 1_600_000_000 });
    expect(await at(event(1_600_975_810))).toBe(1_600_975_810_000);
    expect(await at(event(1_600_975_810_123))).toBe(1_600_975_810_123);
    expect(await at({ toe: 1_600_000_000 })).toBe(1_600_000_000_000);
    expect(await at({})).toBe(NOW);
  });
});

describe('a forged SET', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bytes = () => new TextEncoder().encode(JSON.stringify(claims()));

  it('without a signature is refused', async () => {
    const none = { alg: 'none', typ: 'secevent+jwt' };
    for (const text of [`${part(none)}.${part(claims())}.`, `${part(none)}.${part(claims())}.AAAA`])
      expect(refusalOf(await verify(text))).toEqual(['algorithm', 'invalid_key']);
  });

  it('signed with the public key as if it were a secret is refused', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(key.publicKey));
    const header = { alg: 'HS256', kid: key.kid, typ: 'secevent+jwt' };
    expect(refusalOf(await verify(await new CompactSign(bytes()).setProtectedHeader(header).sign(secret)))).toEqual([
      'algorithm',
      'invalid_key',
    ]);
  });

  it('signed by a stranger under the name of a known key is refused', async () => {
    const stranger = { ...(await newKey()), kid: key.kid };
    expect(refusalOf(await verify(await signSet(claims(), stranger)))).toEqual(['signature', 'authentication_failed']);
  });

  it('with other claims under an honest signature is refused', async () => {
    const [header, , signature] = (await signSet(claims(), key)).split('.');
    const text = `${header}.${part(claims({ jti: 'another' }))}.${signature}`;
    expect(refusalOf(await verify(text))).toEqual(['signature', 'authentication_failed']);
  });

  it.each([
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['a critical extension', { crit: ['b64'], b64: true }],
  ])('with %s in its header is refused', async (_, more) => {
    const header = { alg: key.alg, kid: key.kid, typ: 'secevent+jwt', ...more };
    const text = await new CompactSign(bytes()).setProtectedHeader(header as { alg: string }).sign(key.key);
    expect(refusalOf(await verify(text))?.[0]).toBe('form');
  });

  it.each([
    ['nothing', ''],
    ['an encrypted one', 'a.b.c.d.e'],
    ['no JSON', 'bm8.bm8.bm8'],
    ['65 KiB', `${'a'.repeat(65 * 1024)}.b.c`],
  ])('that is %s is refused', async (_, text) => {
    expect(refusalOf(await verify(text))?.[0]).toBe('form');
  });
});

describe('the keys of a transmitter', () => {
  it('are read again for an unknown one, at most once a minute', async () => {
    const [first, second] = [await newKey(), await newKey()];
    const state = { published: [first], reads: 0 };
    const time = { now: 0, monotonicMs: () => time.now };
    const own = new TransmitterKeys(async () => {
      state.reads += 1;
      return JSON.stringify({ keys: state.published.map(({ publicKey }) => publicKey) });
    }, time);
    const ask = async (by: SigningKey) => verify(await signSet(claims(), by), { keys: own });
    expect(await ask(first)).toHaveProperty('set');
    state.published = [second];
    time.now = 59_999;
    await expect(ask(second)).rejects.toThrow(NotYet);
    time.now = 60_000;
    expect(await Promise.all([ask(second), ask(second), ask(second)])).toMatchObject([
      { set: {} },
      { set: {} },
      { set: {} },
    ]);
    expect(state.reads).toBe(2);
    time.now = 120_000;
    expect(refusalOf((await ask(first)) as SetVerdict)).toEqual(['key', 'invalid_key']);
  });

  it('that are known go on while they cannot be read, and a new one is not refused meanwhile', async () => {
    const time = { now: 0, monotonicMs: () => time.now };
    let isDown = false;
    const own = new TransmitterKeys(async () => {
      if (isDown) throw new Error('down');
      return JSON.stringify({ keys: [key.publicKey] });
    }, time);
    expect(await verify(await signSet(claims(), key), { keys: own })).toHaveProperty('set');
    isDown = true;
    time.now = 2 * 3_600_000;
    expect(await verify(await signSet(claims(), key), { keys: own })).toHaveProperty('set');
    time.now += 60_000;
    await expect(verify(await signSet(claims(), await newKey()), { keys: own })).rejects.toThrow('down');
  });
});

it('an event is named by its short name or by any address', () => {
  expect(['verification', 'stream-updated'].map(signalEventOf)).toEqual([VERIFICATION_EVENT, STREAM_UPDATED_EVENT]);
  expect(signalEventOf('account-disabled')).toBe(
    'https://schemas.openid.net/secevent/risc/event-type/account-disabled',
  );
  expect(signalEventOf('urn:example:secevent:events:type_1')).toBe('urn:example:secevent:events:type_1');
  for (const none of ['account-disable', '', 'javascript:alert(1)', 'https://', 'constructor'])
    expect(signalEventOf(none)).toBeUndefined();
});
