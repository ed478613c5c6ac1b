// store: appends audit entries within the transaction of the change that they record, and seals them with checkpoints.
// INVARIANT: `append` and `seal` are only called inside a transaction; the head is read there too, so that no two entries
// share it, and a checkpoint is committed with the entry that it is over.
import type { AuditEntry, AuditNote, LinkEntry } from '../domain/audit-entry.ts';
import { GENESIS } from '../domain/audit-entry.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { CHECKPOINT_EVERY, type Checkpoint, type SealCheckpoint } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { insertCheckpoint, lastCheckpoint } from './checkpoint-table.ts';
import type { Db, Row } from './database.ts';

const BATCH = 1_000;

export class AuditLog {
  private hasSealed = false;

  constructor(
    private readonly db: Db,
    private readonly link: LinkEntry,
    private readonly clock: Clock,
    /** Without a signer there are no checkpoints: a database in memory has no file outside. */
    private readonly sealCheckpoint?: SealCheckpoint,
  ) {}

  append(notes: AuditNote[]): void {
    if (notes.length === 0) return;
    const at = this.clock.nowMs();
    let { seq, hash } = this.head();
    let sealed = this.sealCheckpoint ? (lastCheckpoint(this.db)?.size ?? 0) : Number.POSITIVE_INFINITY;
    for (const note of notes) {
      const bytes = canonicalJson({ at, kind: note.kind, body: note.body });
      const prev = hash;
      seq += 1;
      hash = this.link(prev, seq, bytes);
      this.db.insert('audit', { seq, at, kind: note.kind, bytes, prev, hash });
      if (seq - sealed >= CHECKPOINT_EVERY) sealed = this.seal()?.size ?? sealed;
    }
  }

  /** Seals the current chain; undefined when the last checkpoint already covers it, or there is no signer. */
  seal(): Checkpoint | undefined {
    const { seq: size, hash: head } = this.head();
    const last = this.sealCheckpoint && lastCheckpoint(this.db);
    if (!this.sealCheckpoint || size <= (last?.size ?? 0)) return undefined;
    const checkpoint = this.sealCheckpoint(last?.line, { size, head, at: this.clock.nowMs() });
    insertCheckpoint(this.db, checkpoint);
    this.hasSealed = true;
    return checkpoint;
  }

  /** Whether a checkpoint was made since this was asked last. */
  takeSealed(): boolean {
    const hasSealed = this.hasSealed;
    this.hasSealed = false;
    return hasSealed;
  }

  head(): { seq: number; hash: string } {
    return headOf(this.db);
  }
}

export function headOf(db: Db): { seq: number; hash: string } {
  return (
    db.get<{ seq: number; hash: string }>('SELECT seq, hash FROM audit WHERE seq = (SELECT max(seq) FROM audit)') ?? {
      seq: 0,
      hash: GENESIS,
    }
  );
}

export function entryOfRow(row: Row): AuditEntry {
  return row as unknown as AuditEntry; // the columns have the noun's names
}

/**
 * All entries from a sequence number on, in order, in batches. Errors: AppError `store_damaged`, after all entries before the
 * first that cannot be read.
 */
export async function* entriesFrom(db: Db, seq: number): AsyncIterable<AuditEntry[]> {
  let next = seq;
  let limit = BATCH;
  for (;;) {
    let rows: Row[];
    try {
      rows = db.all('SELECT * FROM audit WHERE seq >= ? ORDER BY seq LIMIT ?', next, limit);
    } catch (error) {
      if (limit === 1 || !(error instanceof AppError) || error.code !== 'store_damaged') throw error;
      limit = 1; // one by one up to the damage, so that a verification can name it
      continue;
    }
    if (rows.length === 0) return;
    yield rows.map(entryOfRow);
    next = Number(rows.at(-1)?.seq) + 1;
  }
}

/**
 * The digest with which the audit records that a plan was sealed or approved. The first entry counts: anybody who can write the file
 * could append a later one without breaking a link. An entry whose bytes are no JSON was tampered with, and gives no digest.
 */
export function auditedDigest(db: Db, kind: 'plan.sealed' | 'plan.approved', planId: string): string | undefined {
  const sql = 'SELECT bytes FROM audit WHERE kind = ? AND instr(bytes, ?) > 0 ORDER BY seq';
  for (const { bytes } of db.all<{ bytes: string }>(sql, kind, JSON.stringify(planId))) {
    const { plan, digest } = bodyOf(bytes);
    if (plan === planId) return typeof digest === 'string' ? digest : undefined;
  }
  return undefined;
}

function bodyOf(bytes: string): { plan?: unknown; digest?: unknown } {
  try {
    return (JSON.parse(bytes) as { body?: object }).body ?? {};
  } catch {
    return {};
  }
}
