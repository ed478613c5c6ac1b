// console: who calls, and what they may.
// In: the Authorization header. Out: a caller, or a Refusal (401 for a missing or wrong credential, 403 for a scope that
// does not permit). Access tokens are JWTs (HS256) whose key is kept in the database.
import { randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { ENDPOINTS, type EndpointId, type KeyScope } from '../management/contract.ts';
import { Refusal } from './refusal.ts';
import {
  CREDENTIAL_KINDS,
  type Credential,
  credentialId,
  credentialOf,
  credentialOfId,
  hashOf,
} from './store/credentials.ts';
import { type ConsoleStore, keepMeta, nextNumber } from './store/store.ts';

export interface Doorkeeper {
  /** The caller of an endpoint: an API key, an access token or an admin token; 401 when it is none of them. */
  admit(authorization: string | undefined): Promise<Credential>;
  /** Refuses (403) a caller whose scope does not permit the endpoint. */
  permit(caller: Credential, endpoint: EndpointId): void;
  /** A new access token for a refresh token or an API key; 401 for anything else. */
  exchange(authorization: string | undefined): Promise<string>;
}

const READS_OF: Partial<Record<KeyScope, readonly EndpointId[]>> = {
  ServiceAuthor: ['list_services', 'list_policies', 'list_service_policies', 'shield_config'],
  PolicyAuthor: ['list_services', 'list_policies', 'list_service_policies', 'shield_config'],
  read_logs: ['list_events', 'count_events', 'feed_events', 'list_event_types'],
};
const WRITES_OF: Partial<Record<KeyScope, readonly EndpointId[]>> = {
  ServiceAuthor: ['insert_service', 'delete_service', 'enable_service', 'disable_service'],
  PolicyAuthor: ['insert_policy', 'delete_policy', 'attach_policy', 'detach_policy'],
  EventWriter: ['submit_events'],
};

export function isPermitted(scope: KeyScope, endpoint: EndpointId): boolean {
  if (scope === 'Admin') return true;
  if (!ENDPOINTS[endpoint].writes && scope === 'ReadOnly') return true;
  return (READS_OF[scope]?.includes(endpoint) || WRITES_OF[scope]?.includes(endpoint)) ?? false;
}

/** `lifetimeMs`: the lifetime of the access tokens. */
export function openDoor(store: ConsoleStore, lifetimeMs: number): Doorkeeper {
  const key = Buffer.from(
    keepMeta(store.sql, 'jwt_key', () => randomBytes(32).toString('base64url')),
    'base64url',
  );

  async function fromAccessToken(token: string): Promise<Credential | undefined> {
    const verified = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      issuer: store.org.id,
      currentDate: new Date(store.clock.nowMs()),
    }).catch(() => undefined);
    const { kind, scope, key: id } = verified?.payload ?? {};
    const known = CREDENTIAL_KINDS.find((each) => each === kind);
    if (!known || typeof id !== 'string') return undefined;
    // A key that is revoked, or has another scope now, takes its access tokens with it; a new one of its name does not bring them back.
    const credential = credentialOfId(store, known, id);
    return credential?.scope === scope ? credential : undefined;
  }

  return {
    async admit(authorization) {
      const { secret, hasScheme } = secretOf(authorization);
      const stored = credentialOf(store, secret);
      if (stored?.kind === 'admin_token') return stored;
      if (!hasScheme) throw refused('the credential must be sent as `Authorization: Bearer …`');
      if (stored?.kind === 'api_key') return stored;
      if (stored) throw refused('a refresh token is not an access token: exchange it at `/api/v1/refresh_token`');
      const caller = await fromAccessToken(secret);
      if (!caller) throw refused('the credential is unknown, expired or revoked');
      return caller;
    },

    permit(caller, endpoint) {
      if (isPermitted(caller.scope, endpoint)) return;
      throw new Refusal(403, `the scope \`${caller.scope}\` does not permit this: use a credential of another scope`);
    },

    async exchange(authorization) {
      const { secret } = secretOf(authorization);
      const stored = credentialOf(store, secret);
      if (!stored || stored.kind === 'admin_token') throw refused('the refresh token is unknown or revoked');
      const nowS = store.clock.nowMs() / 1_000;
      return new SignJWT({ kind: stored.kind, scope: stored.scope, key: credentialId(store, hashOf(secret)) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(store.org.id)
        .setSubject(stored.name)
        .setJti(String(nextNumber(store.sql, 'access-token')))
        .setIssuedAt(Math.floor(nowS))
        .setExpirationTime(Math.floor(nowS + lifetimeMs / 1_000))
        .sign(key);
    },
  };
}

function secretOf(authorization: string | undefined): { secret: string; hasScheme: boolean } {
  if (!authorization) throw refused('the header `Authorization` is missing');
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  return { secret: match?.[1] ?? authorization.trim(), hasScheme: match !== null };
}

function refused(message: string): Refusal {
  return new Refusal(401, message, { 'WWW-Authenticate': 'Bearer' });
}
