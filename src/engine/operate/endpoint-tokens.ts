// operate: a person makes or revokes a token of the HTTP endpoint. In: who, and what the token may do. Out: the token's record; the
// token itself is returned once, when it is made. Each command is one transaction with its audit entry, which never contains the
// token.

import { timeText } from '../../base/time.ts';
import { type EndpointToken, hashOfToken, isGood, SCOPES, type TokenStore } from '../../domain/endpoint-token.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
import { futureTimeOf } from './commands.ts';

export interface TokenParts {
  tokens: TokenStore;
  clock: Clock;
  ids: Ids;
  /** A new token: 256 random bits, as text. */
  secret(): string;
}

export interface TokenRequest {
  name: string;
  scope: string;
  /** A duration from now, or a date; undefined: until it is revoked. */
  expires?: string | undefined;
}

export interface MadeToken {
  token: EndpointToken;
  /** The token that the caller sends. It is not stored. */
  text: string;
}

/** The name of the token that comes from the configuration. */
const RESERVED = 'admin';
/** Reserved, since a name must mean one thing in the audit. */
const OWN_NAMES: ReadonlySet<string> = new Set(['trustward', 'schedule', 'command', 'http']);
const NAME = /^[a-z0-9][a-z0-9._@-]{0,63}$/;

/** Errors: AppError `usage` that names the fault in the request, `conflict` when the name is taken. */
export async function addToken(parts: TokenParts, request: TokenRequest, by: string): Promise<MadeToken> {
  const { tokens, clock, ids } = parts;
  const nowMs = clock.nowMs();
  const { name, expires } = request;
  if (!NAME.test(name))
    throw new AppError(
      'usage',
      `\`${name}\` is no name of a token: expected up to 64 small letters, digits or any of \`._@-\`, such as \`ci\` or \`ana@example.com\``,
    );
  if (name === RESERVED)
    throw new AppError('conflict', `\`${name}\` is the token of TRUSTWARD_TOKEN: choose another name`);
  if (OWN_NAMES.has(name))
    throw new AppError('conflict', `\`${name}\` is what Trustward itself is called in the audit: choose another name`);
  const scope = SCOPES.find((known) => known === request.scope);
  if (!scope) throw new AppError('usage', `scope is \`${request.scope}\`: expected ${SCOPES.join(', ')}`);
  const expiresAt = expires === undefined ? undefined : futureTimeOf(expires, 'expires', nowMs);
  const taken = (await tokens.inUse()).find((token) => token.name === name);
  if (taken) {
    const over = isGood(taken, nowMs) ? '' : `, which ended ${timeText(taken.expiresAt as number)}`;
    throw new AppError(
      'conflict',
      `there is a token \`${name}\` already${over}: revoke it first, or choose another name`,
    );
  }
  const text = parts.secret();
  const made = { id: ids.next(), name, scope, hash: hashOfToken(text), createdAt: nowMs, createdBy: by };
  const token: EndpointToken = { ...made, expiresAt, revokedAt: undefined, revokedBy: undefined, usedAt: undefined };
  await tokens.save(token, [{ kind: 'token.added', body: { token: token.id, name, scope, expiresAt, by } }]);
  return { token, text };
}

/** Errors: AppError `not_found`, `conflict` for the token that comes from the configuration. */
export async function revokeToken(
  { tokens, clock }: Pick<TokenParts, 'tokens' | 'clock'>,
  name: string,
  by: string,
): Promise<EndpointToken> {
  if (name === RESERVED)
    throw new AppError(
      'conflict',
      `the token \`${name}\` comes from TRUSTWARD_TOKEN or the file beside the database: change it there and restart`,
    );
  const current = (await tokens.inUse()).find((token) => token.name === name);
  if (!current) throw new AppError('not_found', `there is no token \`${name}\`: \`trustward tokens list\` has them`);
  const revoked: EndpointToken = { ...current, revokedAt: clock.nowMs(), revokedBy: by };
  const { id, scope } = current;
  await tokens.save(revoked, [{ kind: 'token.revoked', body: { token: id, name, scope, by } }]);
  return revoked;
}
