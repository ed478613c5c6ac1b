// test support: a hand-made HTTP server on loopback, and a client of it with a clock that tests drive.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { Clock } from '../../src/domain/ports.ts';
import type { ClientOptions } from '../../src/platform/client/fault.ts';
import { ManagementClient } from '../../src/platform/client.ts';

export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Handler = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export interface Loopback {
  address: string;
  /** Every request, in the order it came. */
  seen: Seen[];
  close(): Promise<void>;
}

export async function listen(handler: Handler): Promise<Loopback> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://loopback');
      const one = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      seen.push(one);
      void handler(one, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A server that is closed when the test that asked for it is over. */
export async function serve(handler: Handler): Promise<Loopback> {
  const server = await listen(handler);
  onTestFinished(() => server.close());
  return server;
}

export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

/** Time stands still until a test moves it. `slept` resolves when a sleep of that length begins. */
export class DrivenClock implements Clock {
  now = 1_763_700_000_000;
  #monotonic = 0;
  #sleepers: { until: number; ms: number; wake: () => void }[] = [];
  #watchers: { ms: number; notify: () => void }[] = [];
  /** Every requested sleep, ms. */
  readonly asked: number[] = [];

  nowMs(): number {
    return this.now;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.asked.push(ms);
    return new Promise((resolve, reject) => {
      const stop = () => reject(new AppError('stopped', 'stopped'));
      if (signal?.aborted) return stop();
      signal?.addEventListener('abort', stop, { once: true });
      this.#sleepers.push({ until: this.#monotonic + ms, ms, wake: resolve });
      for (const watcher of this.#watchers.filter((each) => each.ms === ms)) watcher.notify();
    });
  }

  advance(ms: number): void {
    this.now += ms;
    this.#monotonic += ms;
    const due = this.#sleepers.filter((each) => each.until <= this.#monotonic);
    this.#sleepers = this.#sleepers.filter((each) => each.until > this.#monotonic);
    for (const each of due) each.wake();
  }
}

/** Pauses between retries pass at once; deadlines never come unless the test advances the clock itself. */
export class HastyClock extends DrivenClock {
  readonly #pauseMsMax: number;
  constructor(pauseMsMax = 9_999) {
    super();
    this.#pauseMsMax = pauseMsMax;
  }
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms > this.#pauseMsMax) return super.sleep(ms, signal);
    this.asked.push(ms);
    this.advance(ms);
    return Promise.resolve();
  }
}

export const KEY = 'canary-key-5f1c';

export function clientOf(address: string, options: Partial<ClientOptions> = {}): ManagementClient {
  return new ManagementClient({
    address,
    credential: { kind: 'api_key', secret: KEY },
    clock: new HastyClock(),
    random: { next: () => 0.5 },
    ...options,
  });
}

/** What a promise rejects with; fails when it does not. */
export async function errorOf(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`expected an AppError, got ${String(error)}`);
}

export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function devicesOf(count: number): { DeviceID: string; SerialNumber: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    DeviceID: `device-${index}`,
    SerialNumber: `S${String(index).padStart(7, '0')}`,
  }));
}
