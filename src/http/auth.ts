// http: the caller of a request, and its rights. In: a request. Out: its caller, or 401, or 403 with the needed scope.
import type { HttpDeps } from './deps.ts';
import { Problem } from './problem.ts';
import { type Caller, includesScope, type Scope } from './tokens.ts';

const BEARER = /^Bearer +([\w.~+/=-]{1,512})$/i;

/** Errors: Problem 401. */
export function callerOf(authorization: string | undefined, deps: Pick<HttpDeps, 'verifyToken'>): Caller {
  if (authorization === undefined) {
    throw unauthorized('a token is needed: send `Authorization: Bearer TOKEN`', 'Bearer realm="trustward"');
  }
  const token = BEARER.exec(authorization)?.[1];
  const caller = token === undefined ? undefined : deps.verifyToken(token);
  if (caller) return caller;
  throw unauthorized('unknown token', 'Bearer realm="trustward", error="invalid_token"');
}

function unauthorized(detail: string, challenge: string): Problem {
  return new Problem(401, 'unauthorized', 'A token is needed', detail, { headers: { 'WWW-Authenticate': challenge } });
}

/** Errors: Problem 403. */
export function demandScope(caller: Caller, needed: Scope): void {
  if (includesScope(caller.scope, needed)) return;
  throw new Problem(
    403,
    'forbidden',
    'The token may not do this',
    `scope \`${needed}\` is needed, and the token \`${caller.name}\` has \`${caller.scope}\``,
    { headers: { 'WWW-Authenticate': `Bearer realm="trustward", error="insufficient_scope", scope="${needed}"` } },
  );
}
