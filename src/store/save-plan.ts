// store: what goes with a change of a plan: the status that it must still have, the plans in its place, the intents that a rejection
// suppresses. INVARIANT: called inside the transaction of the change.

import { hash } from 'node:crypto';
import { canonicalJson } from '../base/json.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import { AppError } from '../domain/errors.ts';
import {
  type CarriedPlan,
  type Plan,
  type PlannedIntent,
  type PlanStatus,
  REVISIONS_MAX,
  releasedRule,
} from '../domain/plan.ts';
import { auditedYes } from './audit-rows.ts';
import { suppressIntent } from './intent-log.ts';
import { type Db, eachWork, type Row, type Work } from './queries.ts';
import { PLAN } from './rows.ts';
import { removeUnshared } from './stored-json.ts';

/**
 * A plan is used once: of two who answer or apply it at a time, the second is refused. `digest`: of the content that it must still have.
 * Errors: AppError `conflict`, `not_found`.
 */
export function* demandStatus(db: Db, id: string, was: PlanStatus, digest?: string): Work<void> {
  const row = yield* db.get<{ status: string; digest: string }>('SELECT status, digest FROM plans WHERE id = ?', id);
  if (!row) throw new AppError('not_found', `there is no plan \`${id}\``);
  if (row.status === was && (digest === undefined || row.digest === digest)) return;
  if (row.status === was) throw new AppError('conflict', `plan ${id} has another content by now: nothing was changed`);
  throw new AppError('conflict', `plan ${id} is ${row.status} by now, and no longer ${was}: nothing was changed`);
}

/** Of several who say yes at a time each is counted, or told to say it again. Errors: AppError `conflict`. */
export function* demandNextYes(db: Db, plan: Plan): Work<void> {
  const { given } = yield* auditedYes(db, plan);
  if (given.length === (plan.agreed?.given.length ?? 0) - 1) return;
  throw new AppError('conflict', `somebody else has said yes to plan ${plan.id} meanwhile: say it again`);
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

const ANSWERS: ReadonlySet<AuditNote['kind']> = new Set([
  'plan.agreed',
  'plan.approved',
  'plan.rejected',
  'plan.glass_broken',
]);

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

/** Its content until now is kept with its digest. Errors: AppError `conflict` when it no longer waits, or has another content. */
export function* carryOn(db: Db, { plan, from, change }: CarriedPlan, atOnce: number): Work<void> {
  yield* demandStatus(db, plan.id, 'pending', from);
  const sql = `SELECT digest, run_id, created_at, intents, (SELECT coalesce(max(no), 0) FROM plan_revisions WHERE plan_id = plans.id) AS revisions
    FROM plans WHERE id = ?`;
  const row = (yield* db.get<Row>(sql, plan.id)) as Row;
  const { revisions, ...was } = row;
  const no = Number(revisions) + 1;
  yield* db.insert('plan_revisions', { plan_id: plan.id, no, ...was, change: canonicalJson({ ...change }) });
  yield* savePlanInSteps(db, plan, atOnce);
  yield* removeRevisions(db, 'plan_id = ? AND no <= ?', plan.id, no - REVISIONS_MAX);
}

/** Those for which the condition holds. Returns how many. */
export function* removeRevisions(db: Db, condition: string, ...values: (string | number)[]): Work<number> {
  const where = `FROM plan_revisions WHERE ${condition}`;
  const removed = yield* db.all<{ intents: string }>(`SELECT intents ${where}`, ...values);
  if (removed.length === 0) return 0;
  yield* db.run(`DELETE ${where}`, ...values);
  for (const { intents } of removed) yield* removeUnshared(db, intents);
  return removed.length;
}

function* sharedIn(db: Db, intent: PlannedIntent): Work<number> {
  const content = canonicalJson(intent);
  const digest = hash('sha256', content, 'hex');
  const known = (yield* db.get<{ no: number }>('SELECT no FROM planned_intents WHERE digest = ?', digest))?.no;
  if (known !== undefined) return known;
  const sql = 'INSERT INTO planned_intents (digest, content) VALUES (?, ?) RETURNING no';
  return Number((yield* db.get<{ no: number }>(sql, digest, content))?.no);
}
