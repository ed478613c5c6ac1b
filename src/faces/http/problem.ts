// http: errors as problem details (RFC 9457). In: anything thrown. Out: a status and a body with what, where and what
// to do. It never shows a stack trace, or the text of an error that was not written for people.
import { PROBLEMS, TYPE } from '../../contract/problem.ts';
import { AppError } from '../../domain/errors.ts';

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
    /** `signInTo`: whoever signs in on the page of this problem is led there. */
    readonly more: { errors?: FieldError[]; headers?: Record<string, string>; signInTo?: string } = {},
  ) {
    super(problemDetail);
  }
}

/** The message of a known error; undefined for an unexpected one, which only the log shows. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof AppError)) return undefined;
  const [status, slug, title] = PROBLEMS[error.code];
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
    type: `${TYPE}${slug}`,
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

export function tooOften(what: string, waitMs: number): Problem {
  const seconds = Math.ceil(waitMs / 1_000);
  return new Problem(429, 'too-many-requests', 'Too many requests', `${what}: ask again in ${seconds} s`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
