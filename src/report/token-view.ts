// report: a token of the HTTP endpoint as readers see it: times as text, nothing left out but the hash.
import { type EndpointToken, isGood } from '../domain/endpoint-token.ts';
import { isoTime } from '../domain/time-text.ts';
import { isoOrNull } from './iso-or-null.ts';

export function tokenView(token: EndpointToken, nowMs: number) {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    createdAt: isoTime(token.createdAt),
    createdBy: token.createdBy,
    expiresAt: isoOrNull(token.expiresAt),
    revokedAt: isoOrNull(token.revokedAt),
    revokedBy: token.revokedBy ?? null,
    usedAt: isoOrNull(token.usedAt),
    good: isGood(token, nowMs),
  };
}
