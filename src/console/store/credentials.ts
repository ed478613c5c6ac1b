// console store: API keys, refresh tokens and admin tokens.
// In: secrets, once. Out: who they belong to. Only SHA-256 hashes are stored, and they are compared in constant time.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyScope } from '../../management/contract.ts';
import { type ConsoleStore, uuidFrom } from './store.ts';

export const CREDENTIAL_KINDS = ['api_key', 'refresh_token', 'admin_token'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export interface Credential {
  kind: CredentialKind;
  name: string;
  scope: KeyScope;
}

const PREFIX: Record<CredentialKind, string> = { api_key: 'twk_', refresh_token: 'twr_', admin_token: 'twa_' };

/**
 * Makes a credential and returns its secret, which is shown only once. A former one of the same kind and name is
 * revoked.
 */
export function issueCredential(store: ConsoleStore, kind: CredentialKind, name: string, scope: KeyScope): string {
  const secret = `${PREFIX[kind]}${randomBytes(24).toString('base64url')}`;
  store.sql.atomically(() => {
    revokeCredential(store, kind, name);
    store.sql.run(
      'INSERT INTO credential VALUES (?, ?, ?, ?, ?, 0)',
      hashOf(secret),
      kind,
      name,
      scope,
      Math.floor(store.clock.nowMs()),
    );
  });
  return secret;
}

export function revokeCredential(store: ConsoleStore, kind: CredentialKind, name: string): void {
  store.sql.run(
    'UPDATE credential SET revoked_at = ? WHERE kind = ? AND name = ? AND revoked_at = 0',
    Math.max(1, Math.floor(store.clock.nowMs())),
    kind,
    name,
  );
}

/** The owner of this secret; undefined for an unknown or revoked one. */
export function credentialOf(store: ConsoleStore, secret: string): Credential | undefined {
  const hash = hashOf(secret);
  const row = store.sql.get<Credential & { hash: string }>(
    'SELECT hash, kind, name, scope FROM credential WHERE hash = ? AND revoked_at = 0',
    hash,
  );
  if (!row || !timingSafeEqual(Buffer.from(row.hash), Buffer.from(hash))) return undefined;
  return { kind: row.kind, name: row.name, scope: row.scope };
}

/** The valid credential of this id; undefined when none has it. Names are given again after a deletion, ids never. An organization has few. */
export function credentialOfId(store: ConsoleStore, kind: CredentialKind, id: string): Credential | undefined {
  const rows = store.sql.all<Credential & { hash: string }>(
    'SELECT hash, kind, name, scope FROM credential WHERE kind = ? AND revoked_at = 0',
    kind,
  );
  const row = rows.find((each) => credentialId(store, each.hash) === id);
  return row && { kind: row.kind, name: row.name, scope: row.scope };
}

/** The public id of the credential with this hash. */
export function credentialId(store: ConsoleStore, hash: string): string {
  return uuidFrom(`${store.org.id}:api-key:${hash}`);
}

/** The scope of a valid credential; undefined when none of this kind and name exists. */
export function scopeOf(store: ConsoleStore, kind: CredentialKind, name: string): KeyScope | undefined {
  return store.sql.value<KeyScope>(
    'SELECT scope FROM credential WHERE kind = ? AND name = ? AND revoked_at = 0',
    kind,
    name,
  );
}

export function hasCredentials(store: ConsoleStore): boolean {
  return store.sql.value('SELECT 1 FROM credential LIMIT 1') !== undefined;
}

export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
