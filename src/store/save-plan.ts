// store: plans are written here. In: a plan. Out: its row; the intents of a run's waiting plan are rows that other plans share. An answered plan
// has its own copies: nothing that others share can change what a person saw. INVARIANT: called inside a transaction.
import { hash } from 'node:crypto';
import { canonicalJson } from '../domain/canonical.ts';
import { eachInSteps } from '../domain/give-way.ts';
import { type Plan, type PlannedIntent, releasedRule } from '../domain/plan.ts';
import type { Db } from './database.ts';
import { rowOfPlan } from './rows.ts';

export function savePlan(db: Db, plan: Plan): void {
  for (const _ of savePlanInSteps(db, plan, plan.intents.length + 1));
}

/** The same, so many intents at a step. */
export function* savePlanInSteps(db: Db, plan: Plan, atOnce: number): Generator<void, void> {
  const isShared = plan.status === 'pending' && releasedRule(plan) === undefined;
  if (!isShared) return db.upsert('plans', rowOfPlan(plan), 'id');
  const numbers: number[] = [];
  yield* eachInSteps(plan.intents, (intent) => numbers.push(sharedIn(db, intent)), atOnce);
  db.upsert('plans', { ...rowOfPlan({ ...plan, intents: [] }), intents: JSON.stringify(numbers) }, 'id');
}

function sharedIn(db: Db, intent: PlannedIntent): number {
  const content = canonicalJson(intent);
  const digest = hash('sha256', content, 'hex');
  const known = db.get<{ no: number }>('SELECT no FROM planned_intents WHERE digest = ?', digest)?.no;
  if (known !== undefined) return known;
  db.insert('planned_intents', { digest, content });
  return Number(db.get<{ no: number }>('SELECT last_insert_rowid() AS no')?.no);
}
