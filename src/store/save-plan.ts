// store: plans are written here. In: a plan. Out: its row; the intents of a run's waiting plan are rows that other plans share. An answered plan
// has its own copies: nothing that others share can change what a person saw. INVARIANT: called inside a transaction.
import { hash } from 'node:crypto';
import { canonicalJson } from '../domain/canonical.ts';
import { type Plan, type PlannedIntent, releasedRule } from '../domain/plan.ts';
import { type Db, eachWork, type Work } from './queries.ts';
import { rowOfPlan } from './rows.ts';

export function* savePlan(db: Db, plan: Plan): Work<void> {
  yield* savePlanInSteps(db, plan, plan.intents.length + 1);
}

/** The same, so many intents at a step. */
export function* savePlanInSteps(db: Db, plan: Plan, atOnce: number): Work<void> {
  const isShared = plan.status === 'pending' && releasedRule(plan) === undefined;
  if (!isShared) return yield* db.upsert('plans', rowOfPlan(plan), 'id');
  const numbers: number[] = [];
  const share = function* (intent: PlannedIntent): Work<void> {
    numbers.push(yield* sharedIn(db, intent));
  };
  yield* eachWork(plan.intents, share, atOnce);
  yield* db.upsert('plans', { ...rowOfPlan({ ...plan, intents: [] }), intents: JSON.stringify(numbers) }, 'id');
}

function* sharedIn(db: Db, intent: PlannedIntent): Work<number> {
  const content = canonicalJson(intent);
  const digest = hash('sha256', content, 'hex');
  const known = (yield* db.get<{ no: number }>('SELECT no FROM planned_intents WHERE digest = ?', digest))?.no;
  if (known !== undefined) return known;
  const sql = 'INSERT INTO planned_intents (digest, content) VALUES (?, ?) RETURNING no';
  return Number((yield* db.get<{ no: number }>(sql, digest, content))?.no);
}
