// report: one audit entry as readers see it. The hashed bytes stay in the store: `audit verify` reads those.
import type { AuditEntry } from '../domain/audit-entry.ts';
import { currentReason } from '../domain/decision.ts';
import { type Fact, isFacts } from '../domain/facts.ts';
import { isoTime } from '../domain/time-text.ts';

export function auditView({ seq, at, kind, bytes, prev, hash }: AuditEntry) {
  return { seq, at: isoTime(at), kind, body: bodyOf(kind, bytes), prev, hash };
}

/** Bytes that are not JSON were tampered with: they are shown unchanged, and verification names them. */
function bodyOf(kind: string, bytes: string): Fact {
  try {
    const { body = null } = JSON.parse(bytes) as { body?: Fact };
    if (kind !== 'decision.made' || !isFacts(body) || typeof body.reason !== 'string') return body;
    return { ...body, reason: currentReason(body.reason) };
  } catch {
    return bytes;
  }
}
