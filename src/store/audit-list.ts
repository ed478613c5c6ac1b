// store: entries of the audit that people ask for: of a kind, about a target, by a person, since a time. In: filters and a limit. Out: one
// page of entries. INVARIANT: an index serves every filter (test/store/paged-lists.test.ts).
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { AuditQuery } from '../domain/audit-store.ts';
import { entryOfRow, headOf } from './audit-rows.ts';
import type { Db, Work } from './queries.ts';
import { Where } from './where.ts';

/** Newest first; with `afterSeq` oldest first. */
export function* auditEntries(db: Db, query: AuditQuery): Work<AuditEntry[]> {
  const { auditTarget, auditActor } = db.dialect;
  const where = new Where();
  where.add('seq > ?', query.afterSeq);
  where.add('seq < ?', query.beforeSeq);
  where.add('kind = ?', query.kind);
  if (query.hasActor) where.add(`${auditActor} > ?`, '');
  where.add(`${auditTarget} = ?`, query.target);
  if (query.actor !== undefined) {
    const [name = ''] = query.actor.split(' (');
    where.add(`${auditActor} = ?`, name);
    if (name !== query.actor) where.add(`json_extract(bytes, '$.body.by') = ?`, query.actor);
  }
  if (query.since !== undefined) where.add('seq >= ?', yield* firstSince(db, query.since));
  const direction = query.afterSeq === undefined ? 'DESC' : 'ASC';
  // What people did is little.
  const from = query.hasActor ? `audit ${db.dialect.by('audit_by_actor')}` : 'audit';
  const sql = `SELECT seq, at, kind, bytes, prev, hash FROM ${from} ${where.text} ORDER BY seq ${direction} LIMIT ?`;
  return (yield* db.all(sql, ...where.values, query.limit)).map(entryOfRow);
}

/**
 * The number of the first entry that was written at this time or later. Entries are in the order of their times, unless the clock was
 * set back: then it is one of the places where the time is passed.
 */
export function* firstSince(db: Db, atMs: number): Work<number> {
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
