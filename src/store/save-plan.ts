// store: what goes with a change of a plan: the status that it must still have, the plans in its place, the intents that a rejection
// suppresses. INVARIANT: called inside the transaction of the change.

import { hash } from 'node:crypto';
import { canonicalJson } from '../base/json.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import { AppError } from '../domain/errors.ts';
import { type Plan, type PlannedIntent, type PlanStatus, releasedRule } from '../domain/plan.ts';
import { suppressIntent } from './intent-log.ts';
import { type Db, eachWork, type Work } from './queries.ts';
import { PLAN } from './rows.ts';

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

export function* savePlan(db: Db, plan: Plan): Work<void> {
  yield* savePlanInSteps(db, plan, plan.intents.length + 1);
}

/** The same, so many intents at a step. */
export function* savePlanInSteps(db: Db, plan: Plan, atOnce: number): Work<void> {
  const isShared = plan.status === 'pending' && releasedRule(plan) === undefined;
  if (!isShared) return yield* db.upsert('plans', PLAN.rowOf(plan), 'id');
  const numbers: number[] = [];
  const share = function* (intent: PlannedIntent): Work<void> {
    numbers.push(yield* sharedIn(db, intent));
  };
  yield* eachWork(plan.intents, share, atOnce);
  yield* db.upsert('plans', { ...PLAN.rowOf({ ...plan, intents: [] }), intents: JSON.stringify(numbers) }, 'id');
}

function* sharedIn(db: Db, intent: PlannedIntent): Work<number> {
  const content = canonicalJson(intent);
  const digest = hash('sha256', content, 'hex');
  const known = (yield* db.get<{ no: number }>('SELECT no FROM planned_intents WHERE digest = ?', digest))?.no;
  if (known !== undefined) return known;
  const sql = 'INSERT INTO planned_intents (digest, content) VALUES (?, ?) RETURNING no';
  return Number((yield* db.get<{ no: number }>(sql, digest, content))?.no);
}
