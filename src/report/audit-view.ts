// report: one audit entry as readers get it. The bytes that are hashed stay in the store: `audit verify` reads those.
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { Fact } from '../domain/facts.ts';
import { isoTime } from '../domain/time-text.ts';

export function auditView({ seq, at, kind, bytes, prev, hash }: AuditEntry) {
  return { seq, at: isoTime(at), kind, body: bodyOf(bytes), prev, hash };
}

/** Bytes that are not JSON were tampered with: they are shown as they are, and verification names them. */
function bodyOf(bytes: string): Fact {
  try {
    const entry = JSON.parse(bytes) as { body?: Fact };
    return entry.body ?? null;
  } catch {
    return bytes;
  }
}
