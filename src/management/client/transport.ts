// management client: the only place that opens connections. One attempt each: no retry, no redirect, no credential. In:
// a request. Out: its answer, whole or as chunks, decompressed and within its caps, or a TransportFault. A write must
// never share a connection: on one that the server just closed, its receipt would be uncertain.
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Agent } from 'undici';
import type { Clock } from '../../domain/ports.ts';
import type { EndpointId } from '../contract/endpoints.ts';
import { chunksOf, decompress } from './decompress.ts';
import { Exchange, faultOf, type Head } from './exchange.ts';
import { TransportFault } from './fault.ts';
import { LatencyMeter } from './latency.ts';
import type { Settings } from './options.ts';

export interface Outgoing {
  operation: EndpointId;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Without the query: what errors name. */
  path: string;
  /** Without its question mark; empty for none. */
  query: string;
  /** JSON text. */
  body: string | undefined;
  writes: boolean;
}

export interface Answer extends Head {
  body: Buffer;
}

export interface OpenAnswer extends Head {
  /** Of an error status; otherwise empty. */
  body: Buffer;
  /** Decompressed. Each `next` may wait at most the time given to `open`. */
  chunks: AsyncGenerator<Buffer, void>;
  /** Ends the exchange, also in the middle. */
  close(): void;
}

const ERROR_BYTES_MAX = 64 * 2 ** 10;
const LOOPBACK = /^https?:\/\/(localhost|127\.|\[::1\])/;

export class Transport {
  readonly #settings: Settings;
  readonly #reads: Agent;
  readonly #writes: Agent;
  readonly latency: LatencyMeter;
  /** Compressing costs more than it saves when no network lies between. */
  readonly #acceptEncoding: string;
  #skewMs: number | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.latency = new LatencyMeter(settings.clock, settings.requestTimeoutMs);
    // Every request under way listens to the one signal, and removes its listener at its end: that is no leak.
    if (settings.signal) setMaxListeners(0, settings.signal);
    const connect = { timeout: settings.requestTimeoutMs };
    // Deadlines are ours, on the injected clock; undici's own would know neither it nor the total.
    const timeouts = { headersTimeout: 0, bodyTimeout: 0, connect };
    this.#reads = new Agent({ ...timeouts, connections: 64, pipelining: 1 });
    // INVARIANT: pipelining 0 means `connection: close`, so that every write has a connection of its own.
    this.#writes = new Agent({ ...timeouts, pipelining: 0 });
    this.#acceptEncoding = LOOPBACK.test(settings.origin) ? 'identity' : 'gzip, br, deflate';
  }

  /** Server time minus ours at the last answer, ms; undefined before one. */
  get skewMs(): number | undefined {
    return this.#skewMs;
  }

  get clock(): Clock {
    return this.#settings.clock;
  }

  /**
   * One attempt, its whole answer within `timeoutMs` and `bytesMax`. An error status counts whatever happened to its
   * body. Rejects with a TransportFault.
   */
  async fetch(
    outgoing: Outgoing,
    authorization: string | undefined,
    limits: { timeoutMs: number; bytesMax: number; signal?: AbortSignal | undefined },
  ): Promise<Answer> {
    const exchange = this.#begin(outgoing, authorization, limits.signal);
    return this.#measured(outgoing, () =>
      this.#bounded(exchange, limits.timeoutMs, limits.signal, async () => {
        const head = this.#note(await exchange.head());
        if (head.status >= 300) return { ...head, body: await readErrorBody(exchange) };
        const raw = await readBody(exchange, limits.bytesMax);
        return { ...head, body: await decompress(raw, head.headers['content-encoding'], limits.bytesMax) };
      }),
    );
  }

  /** One attempt, its head within `timeoutMs`; the chunks are then read one by one, each within `chunkTimeoutMs()`. */
  async open(
    outgoing: Outgoing,
    authorization: string | undefined,
    limits: { timeoutMs: number; chunkTimeoutMs: () => number; signal?: AbortSignal | undefined },
  ): Promise<OpenAnswer> {
    const exchange = this.#begin(outgoing, authorization, limits.signal);
    const { head, body } = await this.#measured(outgoing, () =>
      this.#bounded(exchange, limits.timeoutMs, limits.signal, async () => {
        const head = this.#note(await exchange.head());
        return { head, body: head.status >= 300 ? await readErrorBody(exchange) : Buffer.alloc(0) };
      }),
    );
    const next = async () => {
      // Mostly the next chunk has already arrived: a timer for each would cost more than parsing it.
      if (!exchange.isReady) await nextTurn();
      if (exchange.isReady) return exchange.next();
      return this.#bounded(exchange, limits.chunkTimeoutMs(), limits.signal, () => exchange.next());
    };
    return {
      ...head,
      body,
      chunks: chunksOf(next, head.headers['content-encoding']),
      close: () => exchange.abort('stopped', 'the answer was not needed any more'),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#reads.destroy(), this.#writes.destroy()]);
  }

  #begin(outgoing: Outgoing, authorization: string | undefined, signal: AbortSignal | undefined): Exchange {
    if (signal?.aborted || this.#settings.signal?.aborted) {
      throw new TransportFault('stopped', false, 'the request was not sent: the program is stopping');
    }
    const exchange = new Exchange(outgoing.writes ? this.#settings.mayWrite : undefined);
    const headers: Record<string, string> = {
      accept: 'application/json',
      'accept-encoding': this.#acceptEncoding,
      'user-agent': 'trustward',
    };
    if (authorization !== undefined) headers.authorization = authorization;
    if (outgoing.body !== undefined) headers['content-type'] = 'application/json';
    const { origin, basePath } = this.#settings;
    const path = `${basePath}${outgoing.path}${outgoing.query === '' ? '' : `?${outgoing.query}`}`;
    try {
      const agent = outgoing.writes ? this.#writes : this.#reads;
      agent.dispatch({ origin, path, method: outgoing.method, headers, body: outgoing.body ?? null }, exchange);
    } catch (error) {
      throw faultOf(error as Error, exchange.sent, false);
    }
    return exchange;
  }

  /** Measures one call that left. How long a call that was stopped would have taken is not known. */
  async #measured<T extends { status: number } | { head: Head }>(
    { writes, operation }: Outgoing,
    call: () => Promise<T>,
  ): Promise<T> {
    const kind = writes ? 'write' : 'read';
    const startedMs = this.clock.monotonicMs();
    const passedMs = () => this.clock.monotonicMs() - startedMs;
    const took = () => this.latency.add(kind, passedMs());
    const { calls } = this.#settings;
    try {
      const answer = await call();
      took();
      calls.called(operation, 'head' in answer ? answer.head : answer, passedMs());
      return answer;
    } catch (error) {
      calls.called(operation, { error }, passedMs());
      if (error instanceof TransportFault && error.sent && error.why === 'too_slow') this.latency.addUnanswered(kind);
      else if (error instanceof TransportFault && error.sent && error.why !== 'stopped') took();
      throw error;
    }
  }

  /** Runs one wait on an exchange, which it aborts when time is up or everything is to end. */
  async #bounded<T>(
    exchange: Exchange,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    wait: () => Promise<T>,
  ): Promise<T> {
    const stop = () => exchange.abort('stopped', 'the request was stopped');
    const signals = [this.#settings.signal, signal].filter((each) => each !== undefined);
    for (const each of signals) each.addEventListener('abort', stop);
    const done = new AbortController();
    this.clock.sleep(timeoutMs, done.signal).then(
      () => done.signal.aborted || exchange.abort('too_slow', `no complete answer within ${Math.ceil(timeoutMs)} ms`),
      () => undefined, // the wait was over first
    );
    try {
      return await wait();
    } catch (error) {
      if (error instanceof TransportFault && error.why !== 'stopped') exchange.abort('truncated', error.words);
      throw error;
    } finally {
      done.abort();
      for (const each of signals) each.removeEventListener('abort', stop);
    }
  }

  #note(head: Head): Head {
    const date = head.headers.date === undefined ? Number.NaN : Date.parse(head.headers.date);
    if (!Number.isNaN(date)) this.#skewMs = date - this.clock.nowMs();
    return head;
  }
}

async function readBody(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (let chunk = await exchange.next(); chunk; chunk = await exchange.next()) {
    size += chunk.length;
    if (size > bytesMax) {
      exchange.abort('too_large', `the answer is larger than ${bytesMax} bytes`);
      throw new TransportFault('too_large', true, `the answer is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
}

/** As much of an error's body as a message needs; a broken one does not change the status. */
async function readErrorBody(exchange: Exchange): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for (let chunk = await exchange.next(); chunk; chunk = await exchange.next()) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > ERROR_BYTES_MAX) {
        exchange.abort('too_large', 'the error is larger than a message needs');
        break;
      }
    }
  } catch (error) {
    if (error instanceof TransportFault && error.why === 'stopped') throw error;
  }
  return Buffer.concat(chunks).subarray(0, ERROR_BYTES_MAX);
}
