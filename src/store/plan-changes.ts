// store: what goes with a change of a plan: the status that it must still have, the plans in its place, the intents that a rejection
// suppresses. INVARIANT: called inside the transaction of the change.
import type { AuditNote } from '../domain/audit-entry.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { AppError } from '../domain/errors.ts';
import type { Plan, PlannedIntent, PlanStatus } from '../domain/plan.ts';
import { suppressIntent } from './intent-log.ts';
import type { Db, Work } from './queries.ts';

/** A plan is used once: of two who answer or apply it at a time, the second is refused. Errors: AppError `conflict`, `not_found`. */
export function* demandStatus(db: Db, id: string, was: PlanStatus): Work<void> {
  const row = yield* db.get<{ status: string }>('SELECT status FROM plans WHERE id = ?', id);
  if (!row) throw new AppError('not_found', `there is no plan \`${id}\``);
  if (row.status === was) return;
  throw new AppError('conflict', `plan ${id} is ${row.status} by now, and no longer ${was}: nothing was changed`);
}

export function* supersede(db: Db, ids: readonly string[], by: readonly Pick<Plan, 'id'>[]): Work<void> {
  const successors = canonicalJson(by.map(({ id }) => id));
  const sql = "UPDATE plans SET status = 'superseded', superseded_by = ? WHERE id = ?";
  for (const id of ids) yield* db.run(sql, successors, id);
}

/** A person said no to one release: what rules undo later is not suppressed by it. */
export function* suppressRejected(db: Db, intent: PlannedIntent, planId: string): Work<void> {
  if (!intent.released) yield* suppressIntent(db, intent, planId);
}

const ANSWERS: ReadonlySet<AuditNote['kind']> = new Set(['plan.approved', 'plan.rejected', 'plan.glass_broken']);

/** A person's answer is sealed in its own transaction. */
export function haveAnswer(notes: readonly AuditNote[]): boolean {
  return notes.some(({ kind }) => ANSWERS.has(kind));
}
