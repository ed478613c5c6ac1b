// notify: one request over https, only to addresses that were checked, never redirected. In: a destination, a method, headers, a body. Out:
// whether it was accepted. It never throws, and its note never repeats the path, which often holds a secret.
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { AppError, lineOf } from '../domain/errors.ts';
import { publicAddressesOf, type Resolve } from './addresses.ts';

export type Delivery = { ok: boolean; note: string };

export interface Destination {
  url: URL;
  timeoutMs: number;
  /** Loopback and private addresses may be connected to. */
  allowPrivate: boolean;
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
}

export interface Sent {
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
