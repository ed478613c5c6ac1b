// domain: the store as the audit is read, verified, archived and appended to. In: where to begin, notes. Out: entries in order.
// Another unit of work appends its own entries.
import type { AuditEntry, AuditNote } from './audit-entry.ts';

export interface AuditReader {
  /** The API address that the database is bound to. */
  address(): Promise<string | undefined>;
  audit(query: { afterSeq?: number; beforeSeq?: number; kind?: string; limit: number }): Promise<AuditEntry[]>;
  auditHead(): Promise<{ seq: number; hash: string }>;
  /** All entries in order, in batches, for verification. */
  auditFrom(seq: number): AsyncIterable<AuditEntry[]>;
}

export interface AuditStore extends AuditReader {
  appendAudit(notes: AuditNote[]): Promise<void>;
}
