// store: the rows of the audit, read. In: a connection. Out: the end of the chain, entries in order, and what entries say of a plan.

import type { AuditedYes, SignedYes } from '../domain/approvals.ts';
import { type AuditEntry, type AuditKind, entryBody, GENESIS } from '../domain/audit-entry.ts';
import { type ArchivedSegment, type Checkpoint, checkpointLine } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import { touchedFor, touchIn } from '../domain/passkey.ts';
import type { Plan, PlanAuditKind } from '../domain/plan.ts';
import type { AuditQuery, AuditSeal } from '../domain/store-ports.ts';
import { type Db, type Row, Where, type Work } from './queries.ts';

// The tables of the audit's checkpoints and archives. INVARIANT: the functions are called inside the caller's
// transaction.

interface LineRow {
  size: number;
  line: string;
}

export function* lastCheckpoint(db: Db): Work<LineRow | undefined> {
  return yield* db.get<LineRow>('SELECT size, line FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)');
}

export function* insertCheckpoint(db: Db, checkpoint: Checkpoint): Work<void> {
  yield* db.insert('checkpoints', { size: checkpoint.size, line: checkpointLine(checkpoint) });
}

export function* checkpointAt(db: Db, size: number): Work<string | undefined> {
  return (yield* db.get<LineRow>('SELECT size, line FROM checkpoints WHERE size = ?', size))?.line;
}

export function* checkpointLinesAfter(db: Db, size: number): Work<string[]> {
  return (yield* db.all<LineRow>('SELECT line FROM checkpoints WHERE size > ? ORDER BY size', size)).map(
    ({ line }) => line,
  );
}

/** Of the entries after one, up to another. */
export function* hashesOf(db: Db, after: number, upTo: number): Work<string[]> {
  const sql = 'SELECT hash FROM audit WHERE seq > ? AND seq <= ? ORDER BY seq';
  return (yield* db.all<{ hash: string }>(sql, after, upTo)).map(({ hash }) => hash);
}

/** The first checkpoint over an entry, with the hashes of the entries that it is the first over. */
export function* sealOver(db: Db, seq: number): Work<AuditSeal | undefined> {
  const found = yield* db.get<LineRow>('SELECT size, line FROM checkpoints WHERE size >= ? ORDER BY size LIMIT 1', seq);
  if (!found) return undefined;
  const before = yield* db.get<{ size: number | null }>(
    'SELECT max(size) AS size FROM checkpoints WHERE size < ?',
    seq,
  );
  const [after, size] = [Number(before?.size ?? 0), Number(found.size)];
  return { after, size, line: found.line, hashes: yield* hashesOf(db, after, size) };
}

/** The key in `meta` of the id that the first line of the file outside names. */
export const DATABASE_ID = 'database';

/** All lines; undefined in a database that a version with checkpoints has not opened for writing yet. */
export function* allCheckpointLines(db: Db): Work<string[] | undefined> {
  const [table] = yield* db.columnsOf(['checkpoints']);
  return table && (yield* checkpointLinesAfter(db, 0));
}

/**
 * Removes the entries of an archived segment from the table. Its record comes first: without it the trigger refuses.
 * INVARIANT: the caller appends the entry that records the removal in the same transaction.
 */
export function* removeArchived(db: Db, segment: ArchivedSegment, at: number): Work<void> {
  const { from, to, head, file, digest } = segment;
  yield* db.insert('audit_archives', { to_seq: to, from_seq: from, head, file, digest, archived_at: at });
  yield* db.run('DELETE FROM audit WHERE seq <= ?', to);
}

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
 * could append a later one without breaking a link. What a person did, and that a run carried the plan on, counts when a checkpoint covers it, if the
 * audit has checkpoints. An entry whose bytes are no JSON was tampered with, and gives no digest.
 */
export function* auditedDigest(db: Db, kind: PlanAuditKind, planId: string): Work<string | undefined> {
  const sql = 'SELECT bytes FROM audit WHERE kind = ? AND seq <= ? AND instr(bytes, ?) > 0 ORDER BY seq';
  const sealed = kind === 'plan.sealed' ? undefined : (yield* lastCheckpoint(db))?.size;
  const upTo = sealed ?? Number.MAX_SAFE_INTEGER;
  const first = (yield* db.all<{ bytes: string }>(sql, kind, upTo, JSON.stringify(planId))).find(isOf(planId));
  if (kind !== 'plan.sealed' || !first) return first && digestIn(first);
  const covered = (yield* lastCheckpoint(db))?.size ?? Number.MAX_SAFE_INTEGER;
  const carried = yield* db.all<{ bytes: string }>(sql, 'plan.carried', covered, JSON.stringify(planId));
  return digestIn(carried.findLast(isOf(planId)) ?? first);
}

/**
 * Who has said yes to this content of a plan, and who asked for its run, or for the release that it is. Counted as `auditedDigest` counts what a
 * person did: what a row says, or an entry behind the last checkpoint, counts for nothing.
 */
export function* auditedYes(db: Db, { id, digest, runId }: Pick<Plan, 'id' | 'digest' | 'runId'>): Work<AuditedYes> {
  const upTo = (yield* lastCheckpoint(db))?.size ?? Number.MAX_SAFE_INTEGER;
  const sql = 'SELECT seq, at, bytes FROM audit WHERE kind = ? AND instr(bytes, ?) > 0 ORDER BY seq';
  const bodies = function* (kind: AuditKind, name: 'plan' | 'run', value: string) {
    const rows = yield* db.all<{ seq: number; at: number; bytes: string }>(sql, kind, JSON.stringify(value));
    return rows
      .map((row) => ({ ...entryBody(row), seq: Number(row.seq), at: Number(row.at) }))
      .filter((one) => (one as Row)[name] === value) as (Row & { seq: number; at: number })[];
  };
  const agreed = yield* bodies('plan.agreed', 'plan', id);
  const given = agreed.flatMap(({ seq, at, by, groups, reason, ...more }): SignedYes[] => {
    if (seq > upTo || more.digest !== digest || typeof by !== 'string') return [];
    const touch = touchIn(more as Facts);
    const signed = touch && { touch, about: touchedFor({ ...more, by } as Facts) };
    return [
      { at, by, groups: texts(groups), ...(typeof reason === 'string' && { reason }), ...(signed && { signed }) },
    ];
  });
  const began = [...(yield* bodies('plan.sealed', 'plan', id)), ...(yield* bodies('run.started', 'run', runId))];
  const asked = began.map(({ by }) => by).find((by) => typeof by === 'string');
  return { given, asked };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function isOf(planId: string): (row: { bytes: string }) => boolean {
  return (row) => entryBody(row).plan === planId;
}

function digestIn(row: { bytes: string }): string | undefined {
  const { digest } = entryBody(row);
  return typeof digest === 'string' ? digest : undefined;
}

// Entries of the audit that people ask for: of a kind, about a target, by a person, since a time. In: filters and a
// limit. Out: one page of entries. INVARIANT: an index serves every filter (test/store/queries.test.ts).

/** Of these kinds, oldest first: those that hold this text between quotes. */
export function* auditNaming(db: Db, kinds: readonly AuditKind[], name: string): Work<AuditEntry[]> {
  const sql = 'SELECT seq, at, kind, bytes, prev, hash FROM audit WHERE kind = ? AND instr(bytes, ?) > 0 ORDER BY seq';
  const found: AuditEntry[] = [];
  for (const kind of kinds) found.push(...(yield* db.all(sql, kind, JSON.stringify(name))).map(entryOfRow));
  return found.sort((one, other) => one.seq - other.seq);
}

/** Newest first; with `afterSeq` oldest first. */
export function* auditEntries(db: Db, query: AuditQuery): Work<AuditEntry[]> {
  const { auditTarget, auditActor } = db.dialect;
  const where = new Where();
  where.add('seq > ?', query.afterSeq);
  where.add('seq < ?', query.beforeSeq);
  where.add('kind = ?', query.kind);
  const isOfPeople = query.hasActor || query.reference !== undefined;
  if (isOfPeople) where.add(`${auditActor} > ?`, '');
  where.add(`json_extract(bytes, '$.body.reference') = ?`, query.reference);
  where.add(`${auditTarget} = ?`, query.target);
  if (query.actor !== undefined) {
    const [name = ''] = query.actor.split(' (');
    where.add(`${auditActor} = ?`, name);
    if (name !== query.actor) where.add(`json_extract(bytes, '$.body.by') = ?`, query.actor);
  }
  if (query.since !== undefined) where.add('seq >= ?', yield* firstSince(db, query.since));
  const direction = query.afterSeq === undefined ? 'DESC' : 'ASC';
  // What people did is little.
  const from = isOfPeople ? `audit ${db.dialect.by('audit_by_actor')}` : 'audit';
  const sql = `SELECT seq, at, kind, bytes, prev, hash FROM ${from} ${where.text} ORDER BY seq ${direction} LIMIT ?`;
  return (yield* db.all(sql, ...where.values, query.limit)).map(entryOfRow);
}

/**
 * The number of the first entry that was written at this time or later. Entries are in the order of their times, unless the clock was
 * set back: then it is one of the places where the time is passed.
 */
function* firstSince(db: Db, atMs: number): Work<number> {
  let low = (yield* db.get<{ seq: number }>('SELECT seq FROM audit ORDER BY seq LIMIT 1'))?.seq ?? 1;
  let high = (yield* headOf(db)).seq + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const at = Number(
      (yield* db.get<{ at: number }>('SELECT at FROM audit WHERE seq >= ? ORDER BY seq LIMIT 1', middle))?.at,
    );
    if (at >= atMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
