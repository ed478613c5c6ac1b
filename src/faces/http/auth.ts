// http: the caller of a request, and its rights. In: a request. Out: its caller, or 401, or 403 with the needed scope.

import { actorText, isUserName, USER_HEADER, withToken } from '../../domain/actor.ts';
import { type Caller, hashOfToken, type Scope } from '../../domain/endpoint-token.ts';
import { Problem } from './problem.ts';
import { includesScope } from './sign-in.ts';

const BEARER = /^Bearer +([\w.~+/=-]{1,512})$/i;

/** The token of a header; undefined without a readable one. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

/** Errors: Problem 401. */
export function callerOf(
  authorization: string | undefined,
  deps: { verifyToken(token: string): Caller | undefined },
): Caller {
  if (authorization === undefined) {
    throw unauthorized('a token is needed: send `Authorization: Bearer TOKEN`', 'Bearer realm="trustward"');
  }
  const token = bearerOf(authorization);
  const caller = token === undefined ? undefined : deps.verifyToken(token);
  if (token !== undefined && caller) return { ...caller, token: hashOfToken(token) };
  throw unauthorized('unknown token', 'Bearer realm="trustward", error="invalid_token"');
}

function unauthorized(detail: string, challenge: string): Problem {
  return new Problem(401, 'unauthorized', 'A token is needed', detail, { headers: { 'WWW-Authenticate': challenge } });
}

/**
 * The caller with the name of the user whom a command line names. INVARIANT: only for scope `admin`, whose holder may make tokens of any
 * name anyway; with any other scope the header is ignored. Errors: Problem 400 for what is no name.
 */
export function namingUser(caller: Caller, header: string | undefined): Caller {
  if (header === undefined || caller.scope !== 'admin') return caller;
  const user = decoded(header);
  if (!isUserName(user)) {
    const detail = `the header \`${USER_HEADER}\` is no name of a user: send up to 64 printable characters without parentheses, percent-encoded`;
    throw new Problem(400, 'bad-request', 'The request is wrong', detail);
  }
  return { ...caller, name: withToken(user, caller.name) };
}

function decoded(header: string): string {
  try {
    return decodeURIComponent(header);
  } catch {
    return '';
  }
}

/** Errors: Problem 403. */
export function demandScope(caller: Caller, needed: Scope): void {
  if (includesScope(caller.scope, needed)) return;
  const isPerson = caller.groups !== undefined;
  throw new Problem(
    403,
    'forbidden',
    isPerson ? 'You may not do this' : 'The token may not do this',
    `scope \`${needed}\` is needed, and ${isPerson ? '' : 'the token '}\`${actorText(caller.name)}\` has \`${caller.scope}\``,
    { headers: { 'WWW-Authenticate': `Bearer realm="trustward", error="insufficient_scope", scope="${needed}"` } },
  );
}
