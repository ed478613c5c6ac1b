// notify: one delivery to a webhook: one signed POST over https. In: a notification. Out: whether the receiver accepted
// it. It must never follow a redirect, connect to an unchecked address, or let a secret into a message.
import { createHmac } from 'node:crypto';
import { canonicalJson } from '../domain/canonical.ts';
import type { LinkedNotification } from '../domain/notification.ts';
import { isoTime } from '../domain/time-text.ts';
import type { Resolve } from './addresses.ts';
import { type Delivery, sendChecked } from './checked-request.ts';
import type { Webhook } from './settings.ts';

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

export const SECRET_UNREAD = 'the file of its secret cannot be read';

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

/** Never throws: the note describes the failure. Only the status of the answer counts. INVARIANT: nothing is sent without a signature that counts. */
export function send(
  webhook: Webhook,
  { id, body }: { id: string; body: string },
  nowMs: number,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  if (webhook.secret === '') return Promise.resolve({ ok: false, note: SECRET_UNREAD });
  return sendChecked(webhook, { method: 'POST', headers: headersOf(webhook, id, body, nowMs), body }, signal, resolve);
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
