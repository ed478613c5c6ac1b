// store: expires waiting plans, pending or approved: at their end, or all at once. Rows in, audit notes out.
// INVARIANT: called inside a transaction that also appends the notes.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Db, Work } from './queries.ts';

interface WaitingRow {
  id: string;
  status: string;
  expires_at: number;
}

/** Expires the plans whose end has come. */
export function* expireOver(db: Db, nowMs: number): Work<AuditNote[]> {
  const over = yield* db.all<WaitingRow>(
    "SELECT id, status, expires_at FROM plans WHERE status IN ('pending', 'approved') AND expires_at <= ?",
    nowMs,
  );
  for (const { id } of over) yield* db.run("UPDATE plans SET status = 'expired' WHERE id = ?", id);
  return over.map(noteOf);
}

/** Ends all of them now, before their end; this time is recorded as their end. An interrupted one keeps its status. */
export function* expireAll(db: Db, nowMs: number, why: string): Work<AuditNote[]> {
  const inTime = yield* db.all<WaitingRow>(
    "SELECT id, status, expires_at FROM plans WHERE status IN ('pending', 'approved', 'applying', 'interrupted') AND expires_at > ?",
    nowMs,
  );
  const over = yield* expireOver(db, nowMs);
  // Only a writer without a daemon accepts, so a plan that is being applied was cut off.
  const end = `UPDATE plans SET status = CASE WHEN status IN ('applying', 'interrupted') THEN 'interrupted' ELSE 'expired' END, expires_at = ?
    WHERE id = ?`;
  for (const { id } of inTime) yield* db.run(end, nowMs, id);
  return [...over, ...inTime.map((row) => ({ kind: 'plan.expired' as const, body: { ...noteOf(row).body, why } }))];
}

function noteOf({ id, status, expires_at }: WaitingRow): AuditNote {
  return { kind: 'plan.expired', body: { plan: id, was: status, expiresAt: expires_at } };
}
