// management client: the only place that opens connections. One attempt each: no retry, no redirect, no credential. In:
// a request. Out: its answer, whole or as chunks, decompressed and within its caps, or a TransportFault. A write must
// never share a connection: on one that the server just closed, its receipt would be uncertain.

import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import { MINUTE_MS } from '../../base/time.ts';
import { type Clock, type Latency, MEASURED_MS } from '../../domain/ports.ts';
import type { EndpointId } from '../contract/endpoints.ts';
import { type Settings, TransportFault } from './fault.ts';

// Compressed bodies, unpacked with their truncation noticed and their size capped.

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);
const inflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate);
const inflateRaw = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflateRaw);
const brotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress);

type Encoding = 'identity' | 'gzip' | 'deflate' | 'br';

/** Unpacks a whole body. Rejects with a TransportFault `truncated`, `too_large` or `encoding`. */
async function decompress(body: Buffer, header: string | undefined, bytesMax: number): Promise<Buffer> {
  const encoding = encodingOf(header);
  if (encoding === 'identity' || body.length === 0) return body;
  const options = { maxOutputLength: bytesMax };
  try {
    if (encoding === 'gzip') return await gunzip(body, options);
    if (encoding === 'br') return await brotli(body, options);
    return await (isZlib(body) ? inflate : inflateRaw)(body, options);
  } catch (error) {
    throw unpackingFault(error, bytesMax);
  }
}

/** Unpacks a body as it comes. The caps of a streamed list are its reader's. */
async function* chunksOf(
  next: () => Promise<Buffer | undefined>,
  header: string | undefined,
): AsyncGenerator<Buffer, void> {
  const encoding = encodingOf(header);
  if (encoding === 'identity') {
    for (let chunk = await next(); chunk; chunk = await next()) yield chunk;
    return;
  }
  const first = await next();
  if (!first) return;
  let fault: unknown;
  const packed = Readable.from(remember(first, next, (error) => (fault = error)));
  const unpacked = packed.pipe(unpackerOf(encoding, first));
  packed.on('error', (error) => unpacked.destroy(error));
  try {
    for await (const chunk of unpacked) yield chunk as Buffer;
  } catch (error) {
    throw fault ?? unpackingFault(error, 0);
  } finally {
    packed.destroy();
    unpacked.destroy();
  }
}

async function* remember(first: Buffer, next: () => Promise<Buffer | undefined>, note: (error: unknown) => void) {
  try {
    for (let chunk: Buffer | undefined = first; chunk; chunk = await next()) yield chunk;
  } catch (error) {
    note(error);
    throw error;
  }
}

function unpackerOf(encoding: Encoding, first: Buffer) {
  if (encoding === 'gzip') return zlib.createGunzip();
  if (encoding === 'br') return zlib.createBrotliDecompress();
  return isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw();
}

/** `deflate` is sent with and without zlib's header. */
function isZlib(body: Buffer): boolean {
  return ((body[0] ?? 0) & 0x0f) === 8 && (((body[0] ?? 0) << 8) | (body[1] ?? 0)) % 31 === 0;
}

function encodingOf(header: string | undefined): Encoding {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === 'deflate' || name === 'br') return name;
  throw new TransportFault('encoding', true, 'the answer is compressed in a way that was not asked for');
}

function unpackingFault(error: unknown, bytesMax: number): TransportFault {
  const code = (error as { code?: unknown }).code;
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    return new TransportFault('too_large', true, `the answer is larger than ${bytesMax} bytes when unpacked`);
  }
  if (code === 'Z_BUF_ERROR' || code === 'ERR__ERROR_FORMAT_TRUNCATED') {
    return new TransportFault('truncated', true, 'the compressed answer is cut off');
  }
  return new TransportFault('encoding', true, 'the compressed answer is damaged');
}

// One HTTP exchange, sent once, its body passed on chunk by chunk under backpressure.

export interface Head {
  status: number;
  headers: IncomingHttpHeaders;
}

/** Above this much unread the connection is paused. */
const UNREAD_BYTES_MAX = 4 * 2 ** 20;

export class Exchange implements Dispatcher.DispatchHandler {
  /** Whether the request may have left. */
  sent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #head: Head | undefined;
  #chunks: Buffer[] = [];
  #unread = 0;
  #ended = false;
  #fault: TransportFault | undefined;
  #wake: (() => void) | undefined;
  readonly #mayLeave: () => boolean;

  /** `mayLeave` is asked when a connection is there, directly before the first byte is written to it. */
  constructor(mayLeave: () => boolean = () => true) {
    this.#mayLeave = mayLeave;
  }

  /** Whether `next` needs no waiting. */
  get isReady(): boolean {
    return this.#chunks.length > 0;
  }

  /** The answer's head. Rejects with a TransportFault. */
  async head(): Promise<Head> {
    while (!this.#head) {
      if (this.#fault) throw this.#fault;
      await this.#change();
    }
    return this.#head;
  }

  /** The next chunk of the body, undefined at its end. Rejects with a TransportFault. */
  async next(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#fault) throw this.#fault;
      if (this.#ended) return undefined;
      await this.#change();
    }
    const chunk = this.#chunks.shift() as Buffer;
    this.#unread -= chunk.length;
    if (this.#controller?.paused && this.#unread < UNREAD_BYTES_MAX / 2) this.#controller.resume();
    return chunk;
  }

  /** Gives up: waiting callers get this fault, and a request that has not left never will. */
  abort(why: 'too_slow' | 'too_large' | 'stopped' | 'truncated', words: string): void {
    if (this.#fault || this.#ended) return;
    this.#fail(new TransportFault(why, this.sent, words));
    this.#controller?.abort(this.#fault as unknown as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#fault || this.sent) {
      controller.abort(this.#fault ?? new TransportFault('broken', true, 'the connection broke'));
      return;
    }
    // INVARIANT: undici calls this in the same turn in which it writes the request, however long that waited for a connection.
    if (!this.#mayLeave()) {
      this.#fail(
        new TransportFault(
          'stopped',
          false,
          'the request was not sent: this process may not change the fleet any more',
        ),
      );
      controller.abort(this.#fault as unknown as Error);
      return;
    }
    this.sent = true;
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return; // informational: the answer is still to come
    this.#head = { status, headers };
    this.#notify();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#unread += chunk.length;
    if (this.#unread > UNREAD_BYTES_MAX) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#notify();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(faultOf(error, this.sent, this.#head !== undefined));
  }

  #fail(fault: TransportFault): void {
    this.#fault ??= fault;
    this.#notify();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

/** What an error of undici or the operating system means. */
function faultOf(error: Error, sent: boolean, headSeen: boolean): TransportFault {
  if (error instanceof TransportFault) return error;
  const code = codeOf(error);
  // Only the operating system's errors are kept as the cause: undici's hold bytes of what a server sent.
  const options = 'syscall' in error ? { cause: error } : {};
  if (!sent) return new TransportFault('unreachable', false, unreachableWords(code), options);
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new TransportFault('truncated', true, 'the answer is shorter than its declared length', options);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new TransportFault('too_large', true, 'the headers of the answer are too large', options);
  }
  if (error.name === 'HTTPParserError' || code.startsWith('HPE_')) {
    return new TransportFault('garbage', true, 'the answer is not valid HTTP');
  }
  return headSeen
    ? new TransportFault('truncated', true, 'the answer ended before it was complete', options)
    : new TransportFault('broken', true, 'the connection broke before an answer came', options);
}

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : '';
}

function unreachableWords(code: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return 'the connection was refused: is the server running, and is the API address right?';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be resolved: check the API address';
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return 'no connection within the time allowed: check the API address and the network';
    default:
      return `no connection can be made${code ? ` (${code})` : ''}: check the API address and the network`;
  }
}

// How long calls took, in one histogram a minute for the last hour.

type Kind = Latency['kind'];

interface Bucket {
  calls: number;
  /** The longest in it: a percentile is never shorter than what was measured. */
  mostMs: number;
}
/** By the power of the fourth root of two. */
type Histogram = Map<number, Bucket>;

const MINUTES = MEASURED_MS / MINUTE_MS;
const BUCKETS_PER_DOUBLING = 4;
const BUCKET_MAX = 24 * BUCKETS_PER_DOUBLING;
/** A call without an answer takes at least its timeout, and how much longer is not known. */
const UNANSWERED_FACTOR = 2;

export class LatencyMeter {
  private readonly minutes = new Map<number, { [kind in Kind]: Histogram }>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly timeoutMs: number,
  ) {}

  /** What a call that timed out counts as. */
  get unansweredMs(): number {
    return UNANSWERED_FACTOR * this.timeoutMs;
  }

  add(kind: Kind, ms: number): void {
    const bucket = Math.min(BUCKET_MAX, Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(Math.max(1, ms))));
    const histogram = this.thisMinute()[kind];
    const { calls, mostMs } = histogram.get(bucket) ?? { calls: 0, mostMs: 0 };
    histogram.set(bucket, { calls: calls + 1, mostMs: Math.max(mostMs, ms) });
  }

  addUnanswered(kind: Kind): void {
    this.add(kind, this.unansweredMs);
  }

  /** Of the slower kind. */
  latency(): Latency {
    this.forget();
    const [read, write] = [this.of('read'), this.of('write')];
    return write.p99Ms >= read.p99Ms && write.calls > 0 ? write : read;
  }

  private of(kind: Kind): Latency {
    const buckets = [...this.minutes.values()].flatMap((minute) => [...minute[kind]]).sort(([a], [b]) => b - a);
    const calls = buckets.reduce((sum, [, bucket]) => sum + bucket.calls, 0);
    // So many may be slower than the percentile.
    let slower = Math.floor(calls / 100);
    let at = 0;
    for (; at < buckets.length && slower >= (buckets[at]?.[1].calls ?? 0); at += 1)
      slower -= buckets[at]?.[1].calls ?? 0;
    const [found] = buckets[at] ?? [];
    const p99Ms = Math.max(0, ...buckets.filter(([bucket]) => bucket === found).map(([, { mostMs }]) => mostMs));
    return { p99Ms: Math.ceil(p99Ms), calls, kind };
  }

  private thisMinute(): { [kind in Kind]: Histogram } {
    const number = this.minuteNow();
    const known = this.minutes.get(number);
    if (known) return known;
    this.forget();
    const fresh = { read: new Map(), write: new Map() };
    this.minutes.set(number, fresh);
    return fresh;
  }

  private forget(): void {
    const oldest = this.minuteNow() - MINUTES;
    for (const number of this.minutes.keys()) if (number < oldest) this.minutes.delete(number);
  }

  private minuteNow(): number {
    return Math.floor(this.clock.monotonicMs() / MINUTE_MS);
  }
}

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
