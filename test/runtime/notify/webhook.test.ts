// test: one delivery over real https: signed, only to checked addresses, never redirected, whatever the receiver
// answers.
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Notification } from '../../../src/domain/notification.ts';
import { deliver } from '../../../src/runtime/notify/delivery.ts';
import type { Webhook } from '../../../src/runtime/notify/settings.ts';
import { CERTIFICATE, type Received, type Receiver, startReceiver } from '../../support/receiver.ts';

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
    expect(await deliver(webhook(), NOTIFICATION, NOW_MS, never)).toEqual({ ok: true, note: 'status 200' });
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
    expect(result).toEqual({ ok: true, note: 'status 200' });
    expect(asked).toBe(1);
    expect(receiver.received[0]?.headers.host).toBe(`hooks.example:${receiver.port}`);
  });

  it('that redirects is not followed', async () => {
    receiver.answers.push(307);
    const result = await deliver(webhook(), NOTIFICATION, NOW_MS, never);
    expect(result).toEqual({ ok: false, note: 'status 307: a redirect, which is not followed' });
    expect(receiver.received).toHaveLength(1);
  });

  it('that does not answer is given up in time', async () => {
    receiver.answers.push('hang');
    const result = await deliver(webhook({ timeoutMs: 200 }), NOTIFICATION, NOW_MS, never);
    expect(result).toEqual({ ok: false, note: 'no answer within 200 ms' });
  });

  it.each([400, 404, 500])('that answers %d has not accepted it', async (status) => {
    receiver.answers.push(status);
    expect(await deliver(webhook(), NOTIFICATION, NOW_MS, never)).toEqual({ ok: false, note: `status ${status}` });
  });

  it('with an untrusted certificate, or one for another name, gets nothing', async () => {
    expect(await deliver(webhook({ ca: undefined }), NOTIFICATION, NOW_MS, never)).toMatchObject({ ok: false });
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const other = await deliver(webhook({}, 'other.example'), NOTIFICATION, NOW_MS, never, resolve);
    expect(other).toMatchObject({ ok: false });
    expect(receiver.received).toEqual([]);
  });
});
