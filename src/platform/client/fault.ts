// management client: what can go wrong with an exchange, and the one line that people read about it.
// In: faults of the wire, statuses, bodies. Out: AppErrors that name method, path and cause. They must never hold a
// query, a header or a credential, nor more of a server's text than a line.
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import type { Lists } from '../../domain/lists.ts';
import type { ApiListener, Clock, Random } from '../../domain/ports.ts';

/** Stable names, in `detail.cause`. */
export type FaultCause =
  | 'unreachable' // no connection: nothing was sent
  | 'broken' // the connection ended before an answer began
  | 'truncated' // the answer ended too early
  | 'too_slow'
  | 'too_large'
  | 'redirect'
  | 'garbage' // not HTTP, not JSON, not of the expected form
  | 'encoding' // compressed in a way that was not asked for, or damaged
  | 'too_deep'
  | 'shifted' // the list changed while it was read
  | 'unfiltered' // a lookup was answered with more records than it may read
  | 'status'
  | 'error_code'
  | 'refused'
  | 'forbidden'
  | 'stopped';

/** A fault of one exchange. `sent` is false only when certainly not a byte of the request left. */
export class TransportFault extends Error {
  override readonly name = 'TransportFault';
  constructor(
    readonly why: FaultCause,
    readonly sent: boolean,
    readonly words: string,
    options: { cause?: unknown } = {},
  ) {
    super(words, options);
  }
}

/** Which request an error is about; `path` is without its query. */
export interface Subject {
  method: string;
  path: string;
}

/** An error about one request, such as "`GET /api/v1/devices`: the answer is a redirect (302); …". */
export function problem(
  code: ErrorCode,
  about: Subject,
  cause: FaultCause,
  words: string,
  more: { status?: number; source?: unknown } = {},
): AppError {
  return new AppError(code, `\`${about.method} ${about.path}\`: ${words}`, {
    detail: { cause, method: about.method, path: about.path, status: more.status },
    cause: more.source,
  });
}

/** How a fault reaches people. */
export function problemOfFault(about: Subject, fault: TransportFault): AppError {
  const code = fault.why === 'stopped' ? 'stopped' : UNREACHABLE.has(fault.why) ? 'api_unreachable' : 'api_answer';
  return problem(code, about, fault.why, fault.words, { source: fault.cause });
}

const UNREACHABLE: ReadonlySet<FaultCause> = new Set(['unreachable', 'broken']);

/** The cause named in an AppError of this client; undefined for other errors. */
export function causeOf(error: unknown): FaultCause | undefined {
  if (!(error instanceof AppError)) return undefined;
  return (error.detail as { cause?: FaultCause } | undefined)?.cause;
}

// Who hears of each request and each retry. In: one listener, or none. Out: calls of it. INVARIANT: whatever a listener
// does, an answer stays what it is. It never sees a parameter, a header or a body.

class CallWatch {
  private listener: ApiListener | undefined;

  /** There is one: it passes on what many follow. */
  watch(listener: ApiListener): void {
    this.listener = listener;
  }

  /** A request that could not be sent is one too. */
  called(operation: string, result: { status: number } | { error: unknown }, ms: number): void {
    this.report((listener) => listener.called({ operation, answer: answerOf(result), ms }));
  }

  retried(operation: string): void {
    this.report((listener) => listener.retried(operation));
  }

  private report(tell: (listener: ApiListener) => void): void {
    try {
      if (this.listener) tell(this.listener);
    } catch {
      // It has lost a count.
    }
  }
}

function answerOf(result: { status: number } | { error: unknown }): string {
  if ('status' in result) return String(result.status);
  return result.error instanceof TransportFault ? result.error.why : 'failed';
}

// A client's options, and the checks on them before anything is sent.

export type Credential =
  | { kind: 'api_key'; secret: string }
  | { kind: 'refresh_token'; secret: string }
  | { kind: 'none' }
  /** There is one, and it could not be read: nothing is sent. */
  | { kind: 'unread' };

export interface ClientOptions {
  /** The bare `{base_url}`, without `/api/v1`. */
  address: string;
  credential: Credential;
  /** For bundles, with or without its scheme word. Without one the credential is used. */
  adminToken?: string | undefined;
  /** Which version's paged lists of devices and users are read; everything else is version 1. Records are always of the shape of version 1. */
  lists?: Lists | undefined;
  /** Where bundles are: `/experimental/v2`, `/api/experimental/v2` or `/api/v2`. */
  bundlePrefix?: string | undefined;
  /** One attempt, from asking for a connection to the last byte. */
  requestTimeoutMs?: number | undefined;
  /** A read with all its retries; a streamed list without a new element. */
  progressTimeoutMs?: number | undefined;
  /** Of one answer, and of one element of a streamed list; after decompression. */
  bytesMax?: number | undefined;
  /** Of a whole streamed list; after decompression. */
  streamBytesMax?: number | undefined;
  /** Of a whole streamed list: a list that its reader does not end first is refused beyond this many elements. */
  recordsMax?: number | undefined;
  /** How often a read is tried again. Writes never are. */
  retries?: number | undefined;
  /** How many pages of one list are read at the same time. */
  concurrency?: number | undefined;
  /** Called after a 401: `replaceCredentials` may be called before it returns, and the request is sent once more. */
  askForAnother?: (() => Promise<void>) | undefined;
  clock: Clock;
  random: Random;
  /**
   * Asked directly before each writing request is written to its connection. After a `false` it is not written, and the call rejects
   * with `stopped`. INVARIANT: it answers at once, from memory.
   */
  mayWrite?: (() => boolean) | undefined;
  /** Ends everything: reads reject with `stopped`, writes under way are doubtful. */
  signal?: AbortSignal | undefined;
}

type LeftOut = 'adminToken' | 'signal' | 'address' | 'askForAnother' | 'mayWrite';

export interface Settings extends Required<Omit<ClientOptions, LeftOut>> {
  /** Scheme, host and port. */
  origin: string;
  /** What stands before every path; empty or `/something`. */
  basePath: string;
  adminToken: string | undefined;
  mayWrite: (() => boolean) | undefined;
  signal: AbortSignal | undefined;
  calls: CallWatch;
}

/** Fills in the defaults. Errors: AppError `config` for an address or credential that cannot be used. */
export function settingsOf(options: ClientOptions): Settings {
  return {
    ...locate(options.address),
    credential: cleanCredential(options.credential),
    adminToken: options.adminToken === undefined ? undefined : cleanSecret(options.adminToken, 'admin token'),
    lists: options.lists ?? 'v1',
    bundlePrefix: `/${(options.bundlePrefix ?? '/experimental/v2').replace(/^\/+|\/+$/g, '')}`,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    progressTimeoutMs: options.progressTimeoutMs ?? 30_000,
    bytesMax: options.bytesMax ?? 64 * 2 ** 20,
    streamBytesMax: options.streamBytesMax ?? 16 * 2 ** 30,
    recordsMax: options.recordsMax ?? 5_000_000,
    retries: options.retries ?? 3,
    concurrency: Math.max(1, options.concurrency ?? 4),
    clock: options.clock,
    random: options.random,
    mayWrite: options.mayWrite,
    signal: options.signal,
    calls: new CallWatch(),
  };
}

function locate(address: string): { origin: string; basePath: string } {
  const url = URL.canParse(address.trim()) ? new URL(address.trim()) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new AppError('config', 'the API address is not an http or https URL: give it as `https://host[:port]`');
  }
  if (url.username || url.password) {
    throw new AppError('config', 'the API address holds a user name or password: leave them out, give an API key');
  }
  if (url.search || url.hash) {
    throw new AppError('config', `the API address \`${url.origin}\` has a query or fragment: leave it out`);
  }
  const basePath = url.pathname.replace(/\/+$/, '');
  if (/\/api\/v\d+$/.test(basePath)) {
    throw new AppError(
      'config',
      `the API address ends in \`${basePath}\`: leave the version out, give \`${url.origin}\``,
    );
  }
  return { origin: url.origin, basePath };
}

export function cleanCredential(credential: Credential): Credential {
  if (credential.kind === 'none' || credential.kind === 'unread') return credential;
  const what = credential.kind === 'api_key' ? 'API key' : 'refresh token';
  return { kind: credential.kind, secret: cleanSecret(credential.secret, what) };
}

/** Files end in a line break; other characters that are not printable are not allowed in a header. */
export function cleanSecret(secret: string, what: string): string {
  const clean = secret.trim();
  if (clean === '') throw new AppError('config', `the ${what} is empty`);
  if (!/^[\x20-\x7e]+$/.test(clean))
    throw new AppError('config', `the ${what} holds characters that no header may hold`);
  return clean;
}
