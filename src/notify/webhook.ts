// notify: one delivery to a webhook: one signed POST over https. In: a notification. Out: whether the receiver accepted
// it. It must never follow a redirect, connect to an unchecked address, or let a secret into a message.
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { canonicalJson } from '../domain/canonical.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { LinkedNotification } from '../domain/notification.ts';
import { isoTime } from '../domain/time-text.ts';
import { publicAddressesOf, type Resolve } from './addresses.ts';
import type { Webhook } from './settings.ts';

export type Delivery = { ok: boolean; note: string };

/** The body's stable form; its version changes when the meaning of a member does. */
export function bodyOf({ id, kind, at, text, about, link }: LinkedNotification): string {
  return canonicalJson({ version: 1, delivery: id, kind, at: isoTime(at), text, about, link });
}

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 over `SECONDS.BODY`, so that an old body cannot be sent again as a new one. */
export function signatureOf(secret: string, body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000);
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}

/** As `send`. */
export function deliver(
  webhook: Webhook,
  notification: LinkedNotification,
  nowMs: number,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  return send(webhook, { id: notification.id, body: bodyOf(notification) }, nowMs, signal, resolve);
}

/** Never throws: the note describes the failure. Only the status of the answer counts. */
export async function send(
  webhook: Webhook,
  { id, body }: { id: string; body: string },
  nowMs: number,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(webhook.timeoutMs)]);
  try {
    const { hostname } = webhook.url;
    const addresses = await within(limit, publicAddressesOf(hostname, webhook.allowPrivate, resolve));
    const checked: LookupFunction = (_host, options, done) =>
      options.all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family);
    const status = await post(webhook, body, headersOf(webhook, id, body, nowMs), checked, limit);
    if (status >= 200 && status < 300) return { ok: true, note: `status ${status}` };
    const redirect = status >= 300 && status < 400 ? ': a redirect, which is not followed' : '';
    return { ok: false, note: `status ${status}${redirect}` };
  } catch (error) {
    const isLate = limit.aborted && !signal.aborted;
    return { ok: false, note: isLate ? `no answer within ${webhook.timeoutMs} ms` : faultWords(error) };
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

function headersOf(webhook: Webhook, id: string, body: string, nowMs: number): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': 'trustward',
    'X-Trustward-Delivery': id,
    'X-Trustward-Signature': signatureOf(webhook.secret, body, nowMs),
  };
}

function post(
  webhook: Webhook,
  body: string,
  headers: Record<string, string>,
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<number> {
  // A connection of its own: a kept one could lead to an address that was checked long ago. The receiver proves its
  // identity, whatever the environment says of certificates.
  const agent = new Agent({ keepAlive: false, ca: webhook.ca, rejectUnauthorized: true });
  const options: RequestOptions = { method: 'POST', headers, lookup, agent, signal };
  return new Promise((resolve, reject) => {
    const sending = request(webhook.url, options, (answer: IncomingMessage) => {
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
