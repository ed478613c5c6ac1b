// domain: the one error type that people see, and the exit code of each kind of failure. In: what went wrong, where,
// and what to do. Out: an AppError. `message` never holds a secret, and `detail` never leaves the process.

/** The kind of failure. Each maps to one exit code (see `exitCodeOf`) and one HTTP status (see http/). */
export const ERROR_CODES = [
  'usage', // a wrong argument or request
  'config', // a wrong or missing configuration value
  'rules', // a rule file that cannot be loaded
  'bound_elsewhere', // the database belongs to another API address
  'api_unreachable', // no connection, or it broke
  'api_refused', // 401 that a refresh did not fix
  'api_forbidden', // 403: this edition or this credential has no such source
  'api_answer', // an answer that cannot be used: wrong status, shape, size, truncated, redirect
  'store_locked', // another process is the active writer
  'store_failed', // the database cannot be opened, read or written
  'store_damaged', // what is in the database is not what was written
  'store_edited', // somebody changed the database beside the engine
  'port_busy', // the HTTP endpoint's address is taken
  'not_found',
  'conflict', // the request meets a state that forbids it
  'busy', // too much waits already; `retryAfterMs` later there may be a place
  'stopped', // the process is shutting down
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export class AppError extends Error {
  override readonly name = 'AppError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: { detail?: unknown; cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, { cause: options.cause });
  }
  get detail(): unknown {
    return this.options.detail;
  }
}

/** What the credential may not read is undefined. Errors: any other fault of `reading`. */
export async function unlessForbidden<T>(reading: T | Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AppError && error.code === 'api_forbidden') return undefined;
    throw error;
  }
}

/** Exit codes of the command line. The command itself decides on 3. */
export function exitCodeOf(error: unknown): 1 | 2 {
  if (!(error instanceof AppError)) return 1;
  switch (error.code) {
    case 'usage':
    case 'config':
    case 'rules':
    case 'bound_elsewhere':
      return 2;
    default:
      return 1;
  }
}

/** The one line that a person reads: never a stack trace. */
export function lineOf(error: unknown): string {
  if (error instanceof AppError) return error.message;
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}
