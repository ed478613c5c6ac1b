// domain: the store as the audit is read, verified, archived and appended to. In: where to begin, notes. Out: entries in order.
// Another unit of work appends its own entries.
import type { AuditEntry, AuditNote } from './audit-entry.ts';

export interface AuditQuery {
  /** Oldest first. */
  afterSeq?: number;
  beforeSeq?: number;
  kind?: string;
  /** Entries that name this target. */
  target?: string;
  /** `ana`: all that `ana` did, whatever the way; `ana (token admin)`: only that way. */
  actor?: string;
  /** Only what somebody did. */
  hasActor?: true;
  /** Written at this time or later, epoch ms. */
  since?: number;
  limit: number;
}

export interface AuditReader {
  /** The API address that the database is bound to. */
  address(): Promise<string | undefined>;
  /** Newest first, unless `afterSeq` is given. */
  audit(query: AuditQuery): Promise<AuditEntry[]>;
  auditHead(): Promise<{ seq: number; hash: string }>;
  /** All entries in order, in batches, for verification. */
  auditFrom(seq: number): AsyncIterable<AuditEntry[]>;
}

export interface AuditStore extends AuditReader {
  appendAudit(notes: AuditNote[]): Promise<void>;
  /** The listener is called after each commit that appended entries, with these. It returns at once; what it throws is dropped. */
  onAudited(listener: (notes: readonly AuditNote[]) => void): void;
}
