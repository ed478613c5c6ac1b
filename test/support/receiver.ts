// support: a receiver of webhooks over https on loopback that records requests and answers as the test sets. Its
// certificate is its own authority; its key protects nothing.
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  port: number;
  received: Received[];
  /** Answers to come; 200 when none is left. `hang`: no answer at all. */
  answers: (number | 'hang')[];
  /** What each answer has in its body and a header. */
  echo(received: Received): string;
  /** Resolves when this many have arrived in all. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A client refuses an answer with more. */
const HEADER_MAX = 4_000;

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: (number | 'hang')[] = [];
  const server = createServer({ key: KEY, cert: CERTIFICATE }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    received.push({ method, path, headers, body: Buffer.concat(chunks).toString('utf8') });
    server.emit('arrived');
    const answer = answers.shift() ?? 200;
    if (answer === 'hang') return;
    const echo = receiver.echo(received.at(-1) as Received);
    const inHeader = encodeURIComponent(echo).slice(0, HEADER_MAX);
    const location = answer >= 300 && answer < 400 ? { Location: `/elsewhere?${inHeader}` } : {};
    response.writeHead(answer, { 'X-Echo': inHeader, ...location }).end(echo);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    port: (server.address() as AddressInfo).port,
    received,
    answers,
    echo: () => 'ignored',
    arrived: async (count) => {
      while (received.length < count) await once(server, 'arrived');
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkVWEM06sOcO81OLT
tgFBhyenIgdz2civdhCMhk7J4hWhRANCAARw6XzKwuYCgdFA5whhCjc7EJFcmQhR
4xX9lm9zHmQGKzp3u68gp9W1d2BRiY/pg/+1mifsGOO2YmtxylOSwKPh
-----END PRIVATE KEY-----`;

export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBqDCCAVCgAwIBAgIUKV0d5vG7ehvaUVi75ItZ//jeSAMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwNDUzMVoYDzIxMjYxMDI4
MTA0NTMxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARw6XzKwuYCgdFA5whhCjc7EJFcmQhR4xX9lm9zHmQGKzp3u68gp9W1
d2BRiY/pg/+1mifsGOO2YmtxylOSwKPho34wfDAdBgNVHQ4EFgQUolyeQdWsCcpY
DMvZBSxBytB7tYMwHwYDVR0jBBgwFoAUolyeQdWsCcpYDMvZBSxBytB7tYMwDwYD
VR0TAQH/BAUwAwEB/zApBgNVHREEIjAggglsb2NhbGhvc3SCDWhvb2tzLmV4YW1w
bGWHBH8AAAEwCgYIKoZIzj0EAwIDRgAwQwIgLHFqgNvE4yoKDTmyCynpphVS1FFB
JNndZc8+P1MZHjECH2NeFoasQ0wApltv86jfBMuWKN1/Ut5/O5jQXcBEKv0=
-----END CERTIFICATE-----`;
