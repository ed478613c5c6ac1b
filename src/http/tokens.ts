// http: bearer tokens and their scopes. Tokens are kept as SHA-256 and compared in constant time. In: a token. Out: its
// owner. It never logs, shows or stores a token.
import { timingSafeEqual } from 'node:crypto';
import { hashOfToken, SCOPES, type Scope } from '../domain/endpoint-token.ts';
import type { Caller } from '../domain/sign-in.ts';

export { type Caller, SCOPES, type Scope };

export interface KnownToken extends Omit<Caller, 'token'> {
  /** SHA-256 of the token, 32 bytes. */
  hash: Buffer;
}

export function tokenHash(token: string): Buffer {
  return Buffer.from(hashOfToken(token), 'hex');
}

export function includesScope(held: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(held) >= SCOPES.indexOf(needed);
}

/** Of hashes of 64 hex digits. Compares with all known tokens in every case, so that the duration reveals nothing. */
export function hashVerifier(known: readonly KnownToken[]): (hash: string) => Caller | undefined {
  return (text) => {
    const hash = Buffer.from(text, 'hex');
    let found: Caller | undefined;
    for (const { name, scope, hash: expected } of known) {
      if (timingSafeEqual(hash, expected)) found = { name, scope };
    }
    return found;
  };
}
