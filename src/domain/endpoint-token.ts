// domain: a bearer token of the HTTP endpoint: whose it is, how far it reaches, until when. The token itself is nowhere: it
// is shown once when it is made, and its hash is kept.
import { hash } from 'node:crypto';
import type { AuditNote } from './audit-entry.ts';

/** Each scope includes the ones before it. */
export const SCOPES = ['read', 'trigger', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface EndpointToken {
  id: string;
  /** Recorded with what is done by it. No two tokens that are not revoked share one. */
  name: string;
  scope: Scope;
  /** SHA-256 of the token, 64 hex digits. */
  hash: string;
  createdAt: number;
  createdBy: string;
  /** From then on it is refused; undefined: never. */
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  revokedBy: string | undefined;
  /** The last use that was written down, which may be a minute late; undefined: never used. */
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
  /** Those that were not revoked, also when they are over. */
  inUse(): Promise<EndpointToken[]>;
  /** Adds one, or writes it as it is now. */
  save(token: EndpointToken, notes: AuditNote[]): Promise<void>;
  /** Not audited: what was done by it is. */
  noteUse(id: string, at: number): Promise<void>;
}
