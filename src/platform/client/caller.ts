// management client: calls of endpoints: from an endpoint's name and values to a value, a stream or a WriteAnswer. In:
// a request. Out: its result. A read is retried here and a write is sent once: never the other way.

import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../domain/errors.ts';
import { isFacts } from '../../domain/facts.ts';
import type { WriteAnswer } from '../../domain/ports.ts';
import { BUNDLE_PREFIXES, ENDPOINTS, type Endpoint, type EndpointId, fillPath } from '../contract/endpoints.ts';
import { parseExact, stringifyExact } from '../contract/exact-json.ts';
import { MESSAGE_SUCCESS } from '../contract/values.ts';
import { ElementSplitter, retryRead, Session, type Splitter, streamList, tooLarge } from './element-splitter.ts';
import {
  type ClientOptions,
  type Credential,
  cleanCredential,
  cleanSecret,
  problem,
  problemOfFault,
  type Settings,
  type Subject,
  settingsOf,
  TransportFault,
} from './fault.ts';
import { betweenElements, isSpace, messageOf, parseBody, readValue } from './page-parts.ts';
import { type Authorizer, adminAuthorizer, authorizerOf, type Grant, Redactor } from './redactor.ts';
import { type Answer, type LatencyMeter, type Outgoing, Transport } from './transport.ts';

// An authorizer whose credential may be replaced while requests are under way.

/** Called after a 401: reads the credential again where it came from, and returns once another one, if any, is in force. */
type AskForAnother = () => Promise<void>;

class LiveAuthorizer implements Authorizer {
  #inner: Authorizer;
  readonly #ask: AskForAnother | undefined;
  readonly #granted = new WeakMap<Grant, Authorizer>();

  constructor(inner: Authorizer, ask: AskForAnother | undefined) {
    this.#inner = inner;
    this.#ask = ask;
  }

  replace(inner: Authorizer): void {
    this.#inner = inner;
  }

  async current(): Promise<Grant> {
    const inner = this.#inner;
    try {
      return await this.#grantOf(inner);
    } catch (error) {
      // A refresh token that is refused: the next one may be there already.
      const isRefused = error instanceof AppError && error.code === 'api_refused';
      if (!isRefused || !(await this.#isReplaced(inner))) throw error;
      return this.#grantOf(this.#inner);
    }
  }

  async renew(refused: Grant): Promise<boolean> {
    const inner = this.#granted.get(refused) ?? this.#inner;
    return (await this.#isReplaced(inner)) || inner.renew(refused);
  }

  async #grantOf(inner: Authorizer): Promise<Grant> {
    const grant = await inner.current();
    this.#granted.set(grant, inner);
    return grant;
  }

  async #isReplaced(inner: Authorizer): Promise<boolean> {
    if (inner === this.#inner) await this.#ask?.();
    return inner !== this.#inner;
  }
}

// Cuts one JSON array, coming as bytes, into pieces of about half a megabyte for others to parse.

const PIECE_BYTES = 2 ** 19;
const BEGINNING_BYTES = 128;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

export class PieceCutter implements Splitter<Buffer<ArrayBuffer>> {
  #kept: Buffer[] = [];
  #size = 0;
  #between: Buffer | undefined;
  /** The last bytes so far: a cut may lie across two chunks, and always does where a server sends element by element. */
  #tail: Buffer = Buffer.alloc(0);
  #isMoving = false;

  constructor(private readonly elementBytesMax: number) {}

  get isMoving(): boolean {
    return this.#isMoving;
  }

  push(chunk: Buffer): Buffer<ArrayBuffer> | undefined {
    this.#kept.push(chunk);
    this.#size += chunk.length;
    if (!this.#between) return this.#enter();
    const found = this.#lastCut(chunk, this.#between);
    this.#isMoving = found !== undefined;
    if (this.#size > this.elementBytesMax + PIECE_BYTES)
      throw fault('too_large', 'one record of the answer is too large');
    if (found === undefined || this.#size < PIECE_BYTES) return undefined;
    const all = Buffer.concat(this.#kept) as Buffer<ArrayBuffer>;
    const rest = all.subarray(all.length - chunk.length + found + 2);
    this.#kept = [rest];
    this.#size = rest.length;
    return all.subarray(0, all.length - rest.length - 1);
  }

  /** Where the last element but one ends, counted from the beginning of the chunk; negative: in an earlier one. */
  #lastCut(chunk: Buffer, between: Buffer): number | undefined {
    const tail = this.#tail;
    const seam = Buffer.concat([tail, chunk.subarray(0, between.length - 1)]);
    this.#tail =
      chunk.length >= between.length ? chunk.subarray(1 - between.length) : seam.subarray(1 - between.length);
    const inChunk = chunk.lastIndexOf(between);
    if (inChunk >= 0) return inChunk;
    const atSeam = seam.lastIndexOf(between);
    return atSeam < 0 ? undefined : atSeam - tail.length;
  }

  end(): Buffer<ArrayBuffer> | undefined {
    const rest = Buffer.concat(this.#kept);
    let end = rest.length - 1;
    while (end >= 0 && isSpace(rest[end] as number)) end -= 1;
    if (!this.#between || rest[end] !== CLOSE_ARRAY)
      throw fault('truncated', 'the answer ended before the list was complete');
    return rest.subarray(0, end) as Buffer<ArrayBuffer>;
  }

  /** Finds the first element, with whose key all others begin. */
  #enter(): undefined {
    const beginning = Buffer.concat(this.#kept);
    let at = 0;
    while (at < beginning.length && isSpace(beginning[at] as number)) at += 1;
    const rest = beginning.subarray(at + 1);
    if (rest.length < BEGINNING_BYTES) return;
    this.#between =
      beginning[at] === OPEN_ARRAY ? betweenElements(rest.toString('latin1', 0, BEGINNING_BYTES)) : undefined;
    if (!this.#between) throw fault('garbage', 'the answer is not a list of records that begin alike');
    this.#isMoving = true;
    this.#kept = [rest];
    this.#size = rest.length;
  }
}

function fault(why: 'too_large' | 'truncated' | 'garbage', words: string): TransportFault {
  return new TransportFault(why, true, words);
}

// Requests, made from the contract's endpoint table.

export type QueryValue = string | number | bigint | boolean | readonly string[] | undefined;
type QueryValues = Readonly<Record<string, QueryValue>>;

interface RequestParts {
  path?: Readonly<Record<string, string>>;
  query?: QueryValues;
  body?: unknown;
}

/** Builds a request. Errors: AppError `usage` for a value that cannot stand in a path. */
function requestOf(id: EndpointId, bundlePrefix: string, parts: RequestParts = {}): Outgoing {
  const endpoint: Endpoint = ENDPOINTS[id];
  const specified = BUNDLE_PREFIXES[0];
  const template = endpoint.path.startsWith(`${specified}/`)
    ? `${bundlePrefix}${endpoint.path.slice(specified.length)}`
    : endpoint.path;
  return {
    operation: id,
    method: endpoint.method,
    path: fillPath(template, parts.path ?? {}),
    query: queryText(parts.query ?? {}),
    body: parts.body === undefined ? undefined : stringifyExact(parts.body),
    writes: endpoint.writes,
  };
}

/** Several values of one parameter are separated by a pipe; undefined ones are left out. */
function queryText(values: QueryValues): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) params.append(name, Array.isArray(value) ? value.join('|') : String(value));
  }
  // Not every server reads `+` as a space; a plus sign itself is already `%2B`.
  return params.toString().replaceAll('+', '%20');
}

/** How errors name an endpoint. */
export function subjectOf(id: EndpointId): Subject {
  return { method: ENDPOINTS[id].method, path: ENDPOINTS[id].path };
}

/** An answer of another form than the endpoint has. `what` completes "the answer holds …". */
export function unexpected(id: EndpointId, what: string): AppError {
  return problem('api_answer', subjectOf(id), 'garbage', `the answer holds ${what}; is the API address right?`);
}

// Whether a writing request had its effect, as far as its answer shows.

/** The sign of a success: every `Message` is `Success`; no error in the body; the envelope's `error_code` is 0. */
type SuccessSign = 'every_message' | 'no_error' | 'envelope';

/** The result by status and then by body. The session handles a 401. */
function classifyAnswer(sign: SuccessSign, answer: Answer, redactor: Redactor): WriteAnswer {
  const { status } = answer;
  if (status === 200 || status === 201 || status === 204) return classifyBody(sign, answer, redactor);
  const message = redactor.clean(messageOf(answer.body));
  const text = message === '' ? `status ${status}` : `status ${status}: ${message}`;
  // Redirects and odd successes are doubtful too: a POST that had its effect is often answered with one.
  return status >= 400 && status < 500 ? { kind: 'failed', status, text } : { kind: 'doubtful', status, text };
}

/** The result of a fault: a failure only when nothing left. */
function classifyFault(fault: TransportFault): WriteAnswer {
  return { kind: fault.sent ? 'doubtful' : 'failed', status: undefined, text: fault.words };
}

function classifyBody(sign: SuccessSign, answer: Answer, redactor: Redactor): WriteAnswer {
  const { status } = answer;
  const body = answer.body.toString('utf8').trim();
  let value: unknown;
  try {
    value = body === '' ? undefined : parseExact(body);
  } catch {
    return { kind: 'doubtful', status, text: 'the answer cannot be read: it is not valid JSON' };
  }
  const verdict = SIGNS[sign](value);
  return { kind: verdict.kind, status, text: redactor.clean(verdict.text) };
}

type Finding = { kind: WriteAnswer['kind']; text: string };

const SIGNS: Record<SuccessSign, (value: unknown) => Finding> = {
  every_message: everyMessage,
  no_error: noError,
  envelope: envelope,
};

function everyMessage(value: unknown): Finding {
  const items = Array.isArray(value) ? value : [value];
  const error = items.map(errorIn).find((each) => each !== undefined);
  if (error !== undefined) return { kind: 'failed', text: error };
  const messages = items.map((item) => (isFacts(item) ? item.Message : undefined));
  const other = messages.filter((each) => typeof each === 'string' && each.trim() !== MESSAGE_SUCCESS);
  if (other.length > 0) return { kind: 'failed', text: other.join('; ') };
  if (messages.length === 0 || messages.includes(undefined) || messages.some((each) => typeof each !== 'string')) {
    return { kind: 'doubtful', text: 'the answer does not show whether it succeeded' };
  }
  return { kind: 'done', text: messages.join('; ') };
}

function noError(value: unknown): Finding {
  const items = Array.isArray(value) ? value : [value];
  const error = items.map(errorIn).find((each) => each !== undefined);
  if (error !== undefined) return { kind: 'failed', text: error };
  return { kind: 'done', text: evidenceOf(value) };
}

function envelope(value: unknown): Finding {
  const code = isFacts(value) ? codeOf(value.error_code) : undefined;
  if (code === undefined)
    return { kind: 'doubtful', text: 'the answer is not the envelope that bundles are answered with' };
  if (code === '0') return { kind: 'done', text: '' };
  return { kind: 'failed', text: errorIn(value) ?? `error_code ${code}` };
}

/** The error in a body: `error`, or an `error_code` other than 0. A `Message` alone is not one. */
function errorIn(value: unknown): string | undefined {
  if (!isFacts(value)) return undefined;
  const code = codeOf(value.error_code);
  const words = [value.error_description, value.error, value.Message].find(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  if (code !== undefined && code !== '0') return `error_code ${code}${words ? `: ${words}` : ''}`;
  const error = value.error;
  if (error === undefined || error === null || error === false || error === '') return undefined;
  return words ?? 'the answer contains an error';
}

function codeOf(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string'
    ? String(value)
    : undefined;
}

/** Kept in the audit: the server's message, not its whole record. */
function evidenceOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isFacts(value)) return '';
  if (typeof value.Message === 'string') return value.Message;
  if (typeof value.ServiceID === 'string') return `${value.ServiceID}, version ${String(value.ServiceVersion)}`;
  return '';
}

/** A write's answer, with the value that came with a success. */
export type Written<T> = WriteAnswer & { value: T | undefined };

export class Caller {
  readonly settings: Settings;
  readonly redactor = new Redactor();
  readonly #transport: Transport;
  readonly #session: Session;
  readonly #user: LiveAuthorizer;
  readonly #admin: LiveAuthorizer | undefined;

  /** Errors: AppError `config`. */
  constructor(options: ClientOptions) {
    const settings = settingsOf(options);
    this.settings = settings;
    this.#transport = new Transport(settings);
    const { credential, adminToken } = settings;
    this.#remember(credential, adminToken);
    const ask = options.askForAnother;
    this.#user = new LiveAuthorizer(this.#authorizerOf(credential), ask);
    this.#admin = adminToken === undefined ? undefined : new LiveAuthorizer(adminAuthorizer(adminToken), ask);
    this.#session = new Session(this.#transport, { user: this.#user, admin: this.#admin ?? this.#user });
  }

  /**
   * From now on requests are sent with these; what is under way is not broken off. An admin token counts only where the client was made
   * with one. Errors: AppError `config`; then the old ones stay.
   */
  replaceCredentials(given: Credential, givenAdmin: string | undefined): void {
    const credential = cleanCredential(given);
    const adminToken = givenAdmin === undefined ? undefined : cleanSecret(givenAdmin, 'admin token');
    const before = { credential: this.settings.credential, adminToken: this.settings.adminToken };
    this.#remember(credential, adminToken);
    this.settings.credential = credential;
    if (!isDeepStrictEqual(before.credential, credential)) this.#user.replace(this.#authorizerOf(credential));
    if (adminToken === undefined || adminToken === before.adminToken) return;
    this.settings.adminToken = adminToken;
    this.#admin?.replace(adminAuthorizer(adminToken));
  }

  #remember(credential: Credential, adminToken: string | undefined): void {
    if ('secret' in credential) this.redactor.add(credential.secret);
    if (adminToken !== undefined) this.redactor.add(adminToken.replace(/^Bearer\s+/i, ''));
  }

  #authorizerOf(credential: Credential) {
    return authorizerOf(
      credential,
      () => this.exchangeToken(),
      this.settings.clock,
      () => this.skewMs(),
    );
  }

  skewMs(): number | undefined {
    return this.#transport.skewMs;
  }

  get latency(): LatencyMeter {
    return this.#transport.latency;
  }

  /** A read's JSON value; undefined for an empty body. Errors: the AppErrors of the Api port. */
  async read(id: EndpointId, parts: RequestParts = {}): Promise<unknown> {
    const { about, answer } = await this.fetch(id, parts);
    return readValue(about, answer, this.redactor);
  }

  /** A read's answer of any status, unparsed. Errors: those of getting it. */
  async fetch(id: EndpointId, parts: RequestParts, signal?: AbortSignal): Promise<{ about: Subject; answer: Answer }> {
    const outgoing = requestOf(id, this.settings.bundlePrefix, parts);
    const { bytesMax } = this.settings;
    const answer = await retryRead(
      this.settings,
      outgoing,
      (timeoutMs) => this.#session.fetch(outgoing, signerOf(id), { timeoutMs, bytesMax, signal }),
      signal,
    );
    return { about: outgoing, answer };
  }

  /** The elements of an unpaged list in batches; complete, or it throws. */
  async *stream(id: EndpointId, parts: RequestParts = {}): AsyncGenerator<unknown[], void> {
    const outgoing = requestOf(id, this.settings.bundlePrefix, parts);
    const { bytesMax, recordsMax } = this.settings;
    let records = 0;
    for await (const elements of streamList(
      this.#session,
      this.settings,
      this.redactor,
      outgoing,
      new ElementSplitter(bytesMax),
    )) {
      yield elements;
      records += elements.length;
      if (records > recordsMax) throw problemOfFault(outgoing, tooLarge(`has more than ${recordsMax} records`));
    }
  }

  /** The same list as bytes: elements with commas between them, unparsed. */
  pieces(id: EndpointId): AsyncGenerator<Buffer<ArrayBuffer>, void> {
    const outgoing = requestOf(id, this.settings.bundlePrefix);
    const cutter = new PieceCutter(this.settings.bytesMax);
    return streamList(this.#session, this.settings, this.redactor, outgoing, cutter);
  }

  /**
   * Sends once. A 401 is answered by one renewal and one replay, since it had no effect.
   * Errors: AppError `api_refused` or `stopped`, or that of a token exchange: in each case nothing had any effect.
   */
  async write(id: EndpointId, sign: SuccessSign, parts: RequestParts): Promise<Written<unknown>> {
    const outgoing = requestOf(id, this.settings.bundlePrefix, parts);
    const limits = { timeoutMs: this.settings.requestTimeoutMs, bytesMax: this.settings.bytesMax };
    let answer: Answer;
    try {
      answer = await this.#session.fetch(outgoing, signerOf(id), limits);
    } catch (error) {
      if (!(error instanceof TransportFault)) throw error;
      if (error.why === 'stopped' && !error.sent) throw problemOfFault(outgoing, error);
      return { ...classifyFault(error), value: undefined };
    }
    const classed = classifyAnswer(sign, answer, this.redactor);
    return { ...classed, value: classed.kind === 'done' ? parseBody(outgoing, answer, answer.body) : undefined };
  }

  /** Exchanges the refresh token for an access token. Errors: AppError as of a read. */
  async exchangeToken(): Promise<string> {
    const { credential, bytesMax } = this.settings;
    if (!('secret' in credential)) throw new AppError('config', 'no credential is set: there is nothing to exchange');
    const outgoing = requestOf('refresh_token', this.settings.bundlePrefix);
    const header = `Bearer ${credential.secret}`;
    const answer = await retryRead(this.settings, outgoing, (timeoutMs) =>
      this.#transport.fetch(outgoing, header, { timeoutMs, bytesMax }),
    );
    if (answer.status === 401 || answer.status === 403) {
      const words = `the refresh token was refused (${answer.status}): generate a new one in the console's profile page`;
      throw problem('api_refused', outgoing, 'refused', words);
    }
    const value = readValue(outgoing, answer, this.redactor);
    const token = isFacts(value) && typeof value.Message === 'string' ? value.Message.trim() : '';
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw problem('api_answer', outgoing, 'garbage', 'the answer holds no access token in `Message`');
    }
    this.redactor.add(token);
    return token;
  }

  /** Ends all connections; what is under way fails. */
  close(): Promise<void> {
    return this.#transport.close();
  }
}

function signerOf(id: EndpointId): 'user' | 'admin' {
  return ENDPOINTS[id].auth === 'admin' ? 'admin' : 'user';
}

/** undefined when the server lacks the endpoint: older ones lack some. */
export async function ifServed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const status = error instanceof AppError ? (error.detail as { status?: number } | undefined)?.status : undefined;
    if (status === 404 || status === 405 || status === 501) return undefined;
    throw error;
  }
}
