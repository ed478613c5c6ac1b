// management client: calls of endpoints: from an endpoint's name and values to a value, a stream or a WriteAnswer. In:
// a request. Out: its result. A read is retried here and a write is sent once: never the other way.
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../domain/errors.ts';
import { isFacts } from '../../domain/facts.ts';
import type { WriteAnswer } from '../../domain/ports.ts';
import { ENDPOINTS, type EndpointId } from '../contract/endpoints.ts';
import { adminAuthorizer, authorizerOf } from './credentials.ts';
import { ElementSplitter } from './element-splitter.ts';
import { problem, problemOfFault, type Subject, TransportFault } from './fault.ts';
import type { LatencyMeter } from './latency.ts';
import { LiveAuthorizer } from './live-authorizer.ts';
import {
  type ClientOptions,
  type Credential,
  cleanCredential,
  cleanSecret,
  type Settings,
  settingsOf,
} from './options.ts';
import { PieceCutter } from './piece-cutter.ts';
import { parseBody, readValue } from './read-answer.ts';
import { Redactor } from './redactor.ts';
import { type RequestParts, requestOf } from './requests.ts';
import { retryRead } from './retry.ts';
import { Session } from './session.ts';
import { streamList, tooLarge } from './stream-list.ts';
import { type Answer, Transport } from './transport.ts';
import { classifyAnswer, classifyFault, type SuccessSign } from './write-answer.ts';

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
