// management client: cuts one JSON array, coming as bytes, into batches of whole elements.
// In: chunks cut anywhere. Out: complete elements, parsed, and at the end the proof that the array was whole. It must never
// hold more than one unfinished element and one chunk, nor take a cut-off array for a short one.

import { AppError } from '../../domain/errors.ts';
import type { Endpoint } from '../contract/endpoints.ts';
import { DEPTH_MAX, parseExact } from '../contract/exact-json.ts';
import {
  causeOf,
  type FaultCause,
  problem,
  problemOfFault,
  type Settings,
  type Subject,
  TransportFault,
} from './fault.ts';
import { isSpace, jsonTextOf, refuseStatus } from './page-parts.ts';
import type { Authorizer, Redactor } from './redactor.ts';
import type { Answer, Head, OpenAnswer, Outgoing, Transport } from './transport.ts';

// When a read is retried, and when it is given up.

const PAUSE_MS_FIRST = 200;
const PAUSE_MS_MAX = 5_000;

/**
 * Faults that another attempt may not meet. Damaged or oversized answers are not among them: nothing is done with
 * those.
 */
const PASSING: ReadonlySet<FaultCause> = new Set(['unreachable', 'broken', 'truncated', 'too_slow']);

type RetrySettings = Pick<
  Settings,
  'retries' | 'requestTimeoutMs' | 'progressTimeoutMs' | 'clock' | 'random' | 'signal' | 'calls'
>;

/**
 * Runs attempts until one answers with a status that stays. `attempt` gets the time it may take, ms.
 * Errors: AppError `stopped`; the attempt's own AppErrors as they are; faults as `api_unreachable` or `api_answer`.
 */
export async function retryRead<T extends Head>(
  settings: RetrySettings,
  about: Subject & { operation: string },
  attempt: (timeoutMs: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const begunAtMs = settings.clock.monotonicMs();
  const endsAtMs = begunAtMs + settings.progressTimeoutMs;
  for (let tried = 0; ; tried++) {
    const leftMs = Math.max(1, endsAtMs - settings.clock.monotonicMs());
    const result = await outcome(attempt(Math.min(settings.requestTimeoutMs, leftMs)));
    if (result instanceof TransportFault ? !PASSING.has(result.why) : !isPassing(result.status)) {
      if (result instanceof TransportFault) throw problemOfFault(about, result);
      return result;
    }
    const askedMs = result instanceof TransportFault ? undefined : retryAfterMs(result, settings.clock.nowMs());
    const pauseMs = (askedMs ?? 0) + settings.random.next() * Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** tried);
    const timeIsUp = settings.clock.monotonicMs() + pauseMs >= endsAtMs;
    if (tried >= settings.retries || timeIsUp) {
      const last =
        isTooSlow(result) && tried > 0 ? tooSlow(settings.clock.monotonicMs() - begunAtMs, tried + 1) : result;
      return giveUp(about, last, askedMs);
    }
    await pause(settings, pauseMs, signal);
    settings.calls.retried(about.operation);
  }
}

async function outcome<T>(attempt: Promise<T>): Promise<T | TransportFault> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof TransportFault) return error;
    throw error;
  }
}

function isTooSlow(result: unknown): boolean {
  return result instanceof TransportFault && result.why === 'too_slow';
}

/** The last attempt had only the rest of the time: people read how long was waited in all. */
function tooSlow(waitedMs: number, attempts: number): TransportFault {
  return new TransportFault(
    'too_slow',
    true,
    `no complete answer within ${Math.ceil(waitedMs)} ms, in ${attempts} attempts`,
  );
}

function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

function giveUp<T extends Head>(about: Subject, result: T | TransportFault, askedMs: number | undefined): T {
  if (result instanceof TransportFault) throw problemOfFault(about, result);
  if (result.status === 429 && askedMs !== undefined) {
    const words = `the server asks to wait ${Math.ceil(askedMs / 1_000)} s (429): run less often, or try later`;
    throw problem('api_answer', about, 'status', words);
  }
  return result; // the reader of the answer interprets its status
}

/** Both forms: seconds, and a date. undefined when there is none or it makes no sense. */
function retryAfterMs(head: Head, nowMs: number): number | undefined {
  const header = head.headers['retry-after']?.trim();
  if (header === undefined || header === '') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // A date is on the server's clock: the answer's own `Date` shows the time there.
  const at = Date.parse(header);
  const now = Date.parse(head.headers.date ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(now) ? nowMs : now));
}

async function pause(settings: RetrySettings, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const signals = [settings.signal, signal].filter((each) => each !== undefined);
  await settings.clock.sleep(ms, signals.length === 0 ? undefined : AbortSignal.any(signals));
}

// Requests with a credential: sends, and after a 401 renews and sends exactly once more.

export class Session {
  readonly #transport: Transport;
  readonly #authorizers: Record<Exclude<Endpoint['auth'], 'refresh'>, Authorizer>;

  constructor(transport: Transport, authorizers: { user: Authorizer; admin: Authorizer }) {
    this.#transport = transport;
    this.#authorizers = authorizers;
  }

  /** One whole answer. Rejects with a TransportFault, or AppError `api_refused` or that of a failed token exchange. */
  fetch(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    limits: { timeoutMs: number; bytesMax: number; signal?: AbortSignal | undefined },
  ): Promise<Answer> {
    return this.#signed(outgoing, signer, (header) => this.#transport.fetch(outgoing, header, limits));
  }

  /** One answer read chunk by chunk. Errors as with `fetch`. */
  open(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    limits: { timeoutMs: number; chunkTimeoutMs: () => number; signal?: AbortSignal | undefined },
  ): Promise<OpenAnswer> {
    return this.#signed(outgoing, signer, (header) => this.#transport.open(outgoing, header, limits));
  }

  async #signed<T extends Head>(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    send: (header: string | undefined) => Promise<T>,
  ): Promise<T> {
    const authorizer = this.#authorizers[signer];
    const grant = await authorizer.current();
    const answer = await send(grant.header);
    if (answer.status !== 401) return answer;
    if (await authorizer.renew(grant)) {
      const second = await send((await authorizer.current()).header);
      if (second.status !== 401) return second;
    }
    throw problem('api_refused', outgoing, 'refused', refusedWords(signer));
  }
}

function refusedWords(signer: 'user' | 'admin'): string {
  return signer === 'admin'
    ? 'the admin token was refused (401): check that it is valid'
    : 'the credential was refused (401): check that the API key or refresh token is valid';
}

// An unpaged list, read element by element, so that a fleet of a million is never in memory whole.

/** Cuts the list's bytes. What it returns is passed on. */
export interface Splitter<T> {
  push(chunk: Buffer): T | undefined;
  /** Whether the last chunk had the end of an element. */
  readonly isMoving: boolean;
  /** The rest; throws unless the list was complete. */
  end(): T | undefined;
}

/** Batches of elements, in order. Errors: AppError as of every read; retried only until the answer has begun. */
export async function* streamList<T>(
  session: Session,
  settings: Settings,
  redactor: Redactor,
  outgoing: Outgoing,
  splitter: Splitter<T>,
): AsyncGenerator<T, void> {
  const { clock, progressTimeoutMs } = settings;
  let waitedMs = 0;
  const chunkTimeoutMs = () => Math.max(1, progressTimeoutMs - waitedMs);
  const answer = await retryRead(settings, outgoing, (timeoutMs) =>
    session.open(outgoing, 'user', { timeoutMs, chunkTimeoutMs }),
  );
  try {
    refuseStatus(outgoing, answer, answer.body, redactor);
    let bytes = 0;
    for (;;) {
      const startedMs = clock.monotonicMs();
      const { value: chunk, done } = await answer.chunks.next();
      waitedMs += clock.monotonicMs() - startedMs;
      if (done) break;
      bytes += chunk.length;
      if (bytes > settings.streamBytesMax) throw tooLarge(`is larger than ${settings.streamBytesMax} bytes`);
      const elements = splitter.push(chunk);
      if (splitter.isMoving) waitedMs = 0;
      else if (waitedMs >= progressTimeoutMs) throw noProgress(progressTimeoutMs);
      if (elements !== undefined) yield elements;
    }
    const left = splitter.end();
    if (left) yield left;
  } catch (error) {
    throw problemOfStream(outgoing, error, progressTimeoutMs);
  } finally {
    await finish(answer);
  }
}

function problemOfStream(outgoing: Outgoing, error: unknown, progressTimeoutMs: number): unknown {
  // The last chunk had only the rest of the time: people read how long was waited in all.
  if (error instanceof TransportFault && error.why === 'too_slow') {
    return problemOfFault(outgoing, noProgress(progressTimeoutMs));
  }
  if (error instanceof TransportFault) return problemOfFault(outgoing, error);
  if (error instanceof AppError && (causeOf(error) === 'garbage' || causeOf(error) === 'too_deep')) {
    const cause = causeOf(error) as 'garbage' | 'too_deep';
    return problem('api_answer', outgoing, cause, `the answer cannot be used: ${error.message}`);
  }
  return error;
}

async function finish(answer: OpenAnswer): Promise<void> {
  answer.close();
  await answer.chunks.return();
}

export function tooLarge(words: string): TransportFault {
  return new TransportFault('too_large', true, `the list ${words}`);
}

function noProgress(ms: number): TransportFault {
  return new TransportFault('too_slow', true, `no new record within ${ms} ms`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** As in `{"DeviceID":`, with which all elements of such a list begin. */
const FIRST_KEY = /^\{"[\w.-]{1,60}":/;
const FIRST_KEY_MAX = 64;

/** Text that is not an array is kept up to this length, to check whether it is `null`. */
const OTHER_BYTES_MAX = 16;

export class ElementSplitter implements Splitter<unknown[]> {
  readonly #elementBytesMax: number;
  #isMoving = false;
  #phase: 'before' | 'inside' | 'after' | 'other' = 'before';
  #depth = 0;
  #inString = false;
  #escaped = false;
  #hadComma = false;
  #seen = 0;
  /**
   * What came since the last cut, and whether it was followed byte by byte: depth and string are then those at its end.
   */
  #kept: Buffer[] = [];
  #keptSize = 0;
  #isFollowed = true;
  /**
   * The text between two elements with the same first key; undefined while unknown, null when the list is not of that
   * kind.
   */
  #between: Buffer | undefined | null;

  constructor(elementBytesMax: number) {
    this.#elementBytesMax = elementBytesMax;
  }

  get isMoving(): boolean {
    return this.#isMoving;
  }

  /**
   * Takes a chunk; returns the elements that it completed, or undefined. Throws a TransportFault for anything but an
   * array, or the AppError of `parseExact`.
   */
  push(chunk: Buffer): unknown[] | undefined {
    const elements = this.#take(chunk);
    this.#isMoving = elements !== undefined;
    return elements;
  }

  #take(chunk: Buffer): unknown[] | undefined {
    const start = this.#phase === 'before' ? this.#enter(chunk) : 0;
    this.#seen += chunk.length;
    if (this.#phase === 'before') return undefined;
    const piece = chunk.subarray(start);
    if (this.#phase === 'other') return this.#keep(piece, OTHER_BYTES_MAX);
    if (this.#phase === 'after') return this.#refuseMore(piece);
    return this.#guess(piece) ?? this.#follow(piece);
  }

  /**
   * The proof: throws a TransportFault unless the array was closed. Returns the remaining elements. A bare `null` is an
   * empty list.
   */
  end(): unknown[] | undefined {
    const left = this.#isFollowed ? undefined : this.#follow(Buffer.alloc(0));
    if (this.#phase === 'after') return left;
    if (this.#phase === 'other') {
      if (Buffer.concat(this.#kept).toString('latin1').trim() === 'null') return undefined;
      throw fault('garbage', 'the answer is not a list');
    }
    throw this.#seen === 0 ? fault('garbage', 'the answer is empty') : cutOff();
  }

  /**
   * Cuts at the last place that looks like the end of an element, which costs a search instead of a look at every byte.
   * A prefix that is valid JSON up to a comma ends an element there: parsing it proves that. After one wrong guess it
   * is not tried again.
   */
  #guess(piece: Buffer): unknown[] | undefined {
    if (this.#between === undefined) this.#between = this.#betweenElements(piece);
    const found = this.#between ? piece.lastIndexOf(this.#between) : -1;
    if (found < 0) return undefined;
    try {
      const elements = parseExact(jsonTextOf(this.#asList(piece.subarray(0, found + 1)))) as unknown[];
      this.#kept = [];
      this.#keptSize = 0;
      this.#keep(piece.subarray(found + 2), this.#elementBytesMax);
      this.#isFollowed = false;
      this.#hadComma = true;
      return elements;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#between = null;
      return undefined;
    }
  }

  #betweenElements(piece: Buffer): Buffer | undefined | null {
    const beginning = Buffer.concat([...this.#kept, piece]).toString('latin1', 0, FIRST_KEY_MAX);
    if (beginning.length < FIRST_KEY_MAX) return undefined;
    const first = FIRST_KEY.exec(beginning);
    return first && Buffer.from(`},${first[0]}`);
  }

  /** The slow way: follows strings and depth to the last comma between elements, or to the end of the array. */
  #follow(bytes: Buffer): unknown[] | undefined {
    let piece = bytes;
    if (!this.#isFollowed) {
      piece = Buffer.concat([...this.#kept, bytes]);
      this.#kept = [];
      this.#keptSize = 0;
      this.#isFollowed = true;
      this.#depth = 1;
      this.#inString = false;
      this.#escaped = false;
    }
    const { cut, end } = this.#scan(piece);
    if (end >= 0) {
      this.#phase = 'after';
      this.#refuseMore(piece.subarray(end + 1));
      return this.#flush(piece.subarray(0, end), true);
    }
    if (cut < 0) return this.#keep(piece, this.#elementBytesMax);
    const elements = this.#flush(piece.subarray(0, cut), false);
    this.#keep(piece.subarray(cut + 1), this.#elementBytesMax);
    return elements;
  }

  /** Finds where the array begins; gives the index of its first byte inside. */
  #enter(chunk: Buffer): number {
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (isSpace(byte) || BYTE_ORDER_MARK[this.#seen + index] === byte) continue;
      this.#phase = byte === OPEN_ARRAY ? 'inside' : 'other';
      this.#depth = 1;
      return byte === OPEN_ARRAY ? index + 1 : index;
    }
    return chunk.length;
  }

  #scan(chunk: Buffer): { cut: number; end: number } {
    const length = chunk.length;
    let depth = this.#depth;
    let inString = this.#inString;
    let index = 0;
    let cut = -1;
    if (this.#escaped && index < length) {
      this.#escaped = false;
      index++;
    }
    while (index < length) {
      let byte = chunk[index++] as number;
      if (inString) {
        while (byte !== QUOTE && byte !== BACKSLASH && index < length) byte = chunk[index++] as number;
        if (byte === QUOTE) inString = false;
        else if (byte === BACKSLASH) {
          if (index < length) index++;
          else this.#escaped = true;
        }
      } else if (byte === QUOTE) inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (++depth <= DEPTH_MAX) continue;
        if (cut < 0) throw fault('too_deep', `the answer is nested deeper than ${DEPTH_MAX} levels`);
        // What came before is passed on, however the network cut it. The rest is scanned again, and fails then.
        this.#isFollowed = false;
        return { cut, end: -1 };
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (--depth > 0) continue;
        if (byte === CLOSE_OBJECT) throw fault('garbage', 'the answer is not valid JSON');
        return { cut, end: index - 1 };
      } else if (byte === COMMA && depth === 1) cut = index - 1;
    }
    this.#depth = depth;
    this.#inString = inString;
    return { cut, end: -1 };
  }

  #keep(rest: Buffer, bytesMax: number): undefined {
    if (rest.length === 0) return;
    this.#kept.push(rest);
    this.#keptSize += rest.length;
    if (this.#keptSize <= bytesMax) return;
    if (this.#phase === 'other') throw fault('garbage', 'the answer is not a list');
    throw fault('too_large', `one record of the answer is larger than ${bytesMax} bytes`);
  }

  /** The kept text and the last piece as elements; undefined for none at all. */
  #flush(piece: Buffer, last: boolean): unknown[] | undefined {
    const list = this.#asList(piece);
    this.#kept = [];
    this.#keptSize = 0;
    if (list.subarray(1, -1).every(isSpace)) {
      if (last && !this.#hadComma) return undefined;
      throw fault('garbage', 'the answer is not valid JSON');
    }
    this.#hadComma ||= !last;
    return parseExact(jsonTextOf(list)) as unknown[];
  }

  #asList(piece: Buffer): Buffer {
    const list = Buffer.allocUnsafe(this.#keptSize + piece.length + 2);
    list[0] = OPEN_ARRAY;
    let at = 1;
    for (const part of this.#kept) at += part.copy(list, at);
    at += piece.copy(list, at);
    list[at] = CLOSE_ARRAY;
    return list;
  }

  #refuseMore(rest: Buffer): undefined {
    if (!rest.every(isSpace)) throw fault('garbage', 'something follows the list in the answer');
  }
}

function fault(why: FaultCause, words: string): TransportFault {
  return new TransportFault(why, true, words);
}

function cutOff(): TransportFault {
  return fault('truncated', 'the answer ended before the list was complete');
}
