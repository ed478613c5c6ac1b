// store: the rows of the audit, read. In: a connection. Out: the end of the chain, entries in order, and what entries say of a plan.
import { type AuditEntry, entryBody, GENESIS } from '../domain/audit-entry.ts';
import { AppError } from '../domain/errors.ts';
import type { PlanAuditKind } from '../domain/plan.ts';
import { lastCheckpoint } from './checkpoint-table.ts';
import type { Db, Row, Work } from './queries.ts';

const BATCH = 1_000;

export function* headOf(db: Db): Work<{ seq: number; hash: string }> {
  return (
    (yield* db.get<{ seq: number; hash: string }>(
      'SELECT seq, hash FROM audit WHERE seq = (SELECT max(seq) FROM audit)',
    )) ?? {
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
      rows = await db.reading(
        db.all('SELECT seq, at, kind, bytes, prev, hash FROM audit WHERE seq >= ? ORDER BY seq LIMIT ?', next, limit),
      );
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
 * The digest with which the audit records that a plan was sealed, approved or let through. The first entry counts: anybody who can write the file
 * could append a later one without breaking a link. What a person did counts when a checkpoint covers it, if the audit has checkpoints. An entry whose
 * bytes are no JSON was tampered with, and gives no digest.
 */
export function* auditedDigest(db: Db, kind: PlanAuditKind, planId: string): Work<string | undefined> {
  const sql = 'SELECT bytes FROM audit WHERE kind = ? AND seq <= ? AND instr(bytes, ?) > 0 ORDER BY seq';
  const sealed = kind === 'plan.sealed' ? undefined : (yield* lastCheckpoint(db))?.size;
  const upTo = sealed ?? Number.MAX_SAFE_INTEGER;
  for (const row of yield* db.all<{ bytes: string }>(sql, kind, upTo, JSON.stringify(planId))) {
    const { plan, digest } = entryBody(row);
    if (plan === planId) return typeof digest === 'string' ? digest : undefined;
  }
  return undefined;
}
