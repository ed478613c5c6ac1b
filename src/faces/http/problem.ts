// http: errors as problem details (RFC 9457). In: anything thrown. Out: a status and a body with what, where and what
// to do. It never shows a stack trace, or the text of an error that was not written for people.
import { z } from 'zod';
import { AppError, type ErrorCode } from '../../domain/errors.ts';

export const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export const PAGE_HEADERS = {
  ...SECURITY_HEADERS,
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  // With `no-referrer` a browser sends the Origin `null` with our own forms.
  'Referrer-Policy': 'same-origin',
};

export const problemSchema = z.strictObject({
  type: z.string().describe('`urn:trustward:problem:` and a name, which is stable'),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('what, where, and what to do'),
  instance: z.string().optional().describe('the path of the request'),
  errors: z
    .array(z.strictObject({ path: z.string().describe('where; empty for the whole'), message: z.string() }))
    .optional(),
});

export interface FieldError {
  /** Where in the body or query: `rules[0]`; empty for the whole. */
  path: string;
  message: string;
}

/**
 * A refusal by the endpoint itself. `slug` is stable: clients distinguish problems by `urn:trustward:problem:<slug>`.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  constructor(
    readonly status: number,
    readonly slug: string,
    readonly title: string,
    readonly problemDetail: string,
    readonly more: { errors?: FieldError[]; headers?: Record<string, string> } = {},
  ) {
    super(problemDetail);
  }
}

const OF_CODE: Record<ErrorCode, [status: number, slug: string, title: string]> = {
  usage: [400, 'bad-request', 'The request is wrong'],
  config: [500, 'configuration', 'The configuration is wrong'],
  rules: [409, 'rules', 'The rules cannot be loaded'],
  bound_elsewhere: [409, 'bound-elsewhere', 'The database belongs to another address'],
  api_unreachable: [502, 'api-unreachable', 'The Management API cannot be reached'],
  api_refused: [502, 'api-refused', 'The Management API refuses the credential'],
  api_forbidden: [502, 'api-forbidden', 'The Management API forbids this'],
  api_answer: [502, 'api-answer', 'The Management API gave an answer that cannot be used'],
  store_locked: [503, 'store-locked', 'The database is in use by another process'],
  store_damaged: [503, 'store-damaged', 'The database is damaged'],
  store_edited: [503, 'store-edited', 'The database was changed beside the engine'],
  store_failed: [503, 'store-failed', 'The database does not work'],
  port_busy: [500, 'port-busy', 'An address is taken'],
  not_found: [404, 'not-found', 'Not found'],
  conflict: [409, 'conflict', 'The current state forbids this'],
  busy: [429, 'busy', 'Too much is waiting already'],
  stopped: [503, 'stopping', 'Trustward is shutting down'],
  internal: [500, 'internal', 'Something went wrong inside'],
};

/** The message of a known error; undefined for an unexpected one, which only the log shows. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof AppError)) return undefined;
  const [status, slug, title] = OF_CODE[error.code];
  // INVARIANT: it names files of the server: those are for the log.
  if (error.code === 'config') return new Problem(status, slug, title, 'what is wrong with it is in the log');
  const { retryAfterMs } = error.options;
  if (retryAfterMs === undefined) return new Problem(status, slug, title, error.message);
  const headers = { 'Retry-After': String(Math.ceil(retryAfterMs / 1_000)) };
  return new Problem(status, slug, title, error.message, { headers });
}

export const UNFORESEEN = new Problem(
  500,
  'internal',
  'Something went wrong inside',
  'the request could not be answered: see the log',
);

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** @param instance the path of the request; undefined when it has none. */
export function problemAnswer(problem: Problem, instance?: string): Answer {
  const { status, slug, title, problemDetail, more } = problem;
  const body = {
    type: `urn:trustward:problem:${slug}`,
    title,
    status,
    detail: problemDetail,
    instance,
    ...(more.errors ? { errors: more.errors } : {}),
  };
  const headers = { ...SECURITY_HEADERS, 'Content-Type': 'application/problem+json', ...more.headers };
  return { status, headers, body: `${JSON.stringify(body)}\n` };
}

export function problemResponse(problem: Problem, instance?: string): Response {
  const { body, ...init } = problemAnswer(problem, instance);
  return new Response(body, init);
}

export const KEY_HEADER = 'Idempotency-Key';

/** A route with these headers may be repeated. */
export const keyHeaders = z.object({
  [KEY_HEADER]: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .describe('a repeat with the same key within 24 hours gets the same answer, and nothing is done twice'),
});
