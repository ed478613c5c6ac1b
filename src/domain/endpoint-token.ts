// domain: a bearer token of the HTTP endpoint: its owner, scope and end. The token itself is not stored: it is shown
// once when it is made, and its hash is kept.
import { hash } from 'node:crypto';
import type { AuditNote } from './audit-entry.ts';

/** Each scope includes the ones before it. */
export const SCOPES = ['read', 'trigger', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface EndpointToken {
  id: string;
  /** Recorded with everything done by it. No two tokens that are not revoked share a name. */
  name: string;
  scope: Scope;
  /** SHA-256 of the token, 64 hex digits. */
  hash: string;
  createdAt: number;
  createdBy: string;
  /** Refused from this time on; undefined: never. */
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  revokedBy: string | undefined;
  /** The last recorded use, which may be a minute late; undefined: never used. */
  usedAt: number | undefined;
}

/** SHA-256 is enough: nobody guesses 256 random bits. 64 hex digits. */
export function hashOfToken(text: string): string {
  return hash('sha256', text, 'hex');
}

export function isGood({ expiresAt, revokedAt }: EndpointToken, nowMs: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || nowMs < expiresAt);
}

/** Tokens as the store keeps them. Errors: AppError `store_failed`. */
export interface TokenStore {
  /** Tokens that were not revoked, expired ones included. */
  inUse(): Promise<EndpointToken[]>;
  /** Adds a token, or updates it. */
  save(token: EndpointToken, notes: AuditNote[]): Promise<void>;
  /** Not audited: what was done by it is. */
  noteUse(id: string, at: number): Promise<void>;
}
