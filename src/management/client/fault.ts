// management client: what can go wrong with an exchange, and the one line that people read about it.
// In: faults of the wire, statuses, bodies. Out: AppErrors that name method, path and cause. They must never hold a
// query, a header or a credential, nor more of a server's text than a line.
import { AppError, type ErrorCode } from '../../domain/errors.ts';

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
