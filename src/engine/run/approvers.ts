// run: how many people have to say yes to a plan, and whose yes is missing. In: a plan, the rules in force with their approvals, the audit. Out: what is
// missing. INVARIANT: what counts is the audit's: an edited row approves nothing.
import { type Approvals, approvalsFor, missingFor, type PlanYes, whyNoYes, type Yes } from '../../domain/approvals.ts';
import { AppError } from '../../domain/errors.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Operator } from '../../domain/operator.ts';
import type { Plan } from '../../domain/plan.ts';
import type { Rule } from '../../domain/rule.ts';
import type { PlanStore } from '../../domain/store-ports.ts';

export interface Approving {
  store: Pick<PlanStore, 'auditedDigest' | 'auditedYes'>;
  active(): { rules: readonly Pick<Rule, 'id' | 'severity' | 'guards'>[] };
}

export function approvalsOf({ active }: Pick<Approving, 'active'>): Approvals | undefined {
  return guardsOf(active().rules)?.approvals;
}

/**
 * Whether a plan may be done as to who said yes to it. Undefined: nobody more is needed, or somebody broke the glass. A change of the file counts at
 * once.
 */
export async function missingYes(engine: Approving, plan: Plan): Promise<string | undefined> {
  const all = approvalsOf(engine);
  const needed = all ? approvalsFor(plan, all, engine.active().rules) : [];
  if (!all || needed.length === 0) return undefined;
  if (plan.breakGlass && (await engine.store.auditedDigest('plan.glass_broken', plan.id)) === plan.digest)
    return undefined;
  const { given, asked } = await engine.store.auditedYes(plan);
  return missingFor(needed, given, asked, all);
}

/**
 * A yes to a part of a plan: what the plan keeps of it, and what is missing then, by the size of the whole plan; undefined: one person is enough.
 * Errors: AppError `conflict` for one that does not count.
 */
export async function agreedBy(
  engine: Approving,
  { whole, part }: { whole: Plan; part: Plan },
  { by, groups = [], reason }: Operator,
  at: number,
): Promise<PlanYes | undefined> {
  const all = approvalsOf(engine);
  const needed = all ? approvalsFor(whole, all, engine.active().rules) : [];
  if (!all || needed.length === 0) return undefined;
  const { given, asked } = await engine.store.auditedYes(part === whole ? whole : { ...whole, digest: part.digest });
  const yes: Yes = { at, by, groups, ...(reason !== undefined && { reason }) };
  const refused = missingFor(needed, given, asked, all) && whyNoYes(yes, { needed, given, asked, all });
  if (refused) throw new AppError('conflict', `plan ${whole.id} is not approved: ${refused}`);
  return { given: [...given, yes], missing: missingFor(needed, [...given, yes], asked, all) };
}

/** Undefined for an intent of no plan. Asks about each plan once for a file: what was said of it stays. */
export function missingYesOf(
  engine: Approving & { store: Pick<PlanStore, 'plan'> },
): (intent: Pick<Intent, 'planId' | 'approved'>) => Promise<string | undefined> | undefined {
  const known = new Map<string, { all: Approvals; asked: Promise<string | undefined> }>();
  const ask = async (id: string) => {
    const plan = await engine.store.plan(id);
    return plan ? missingYes(engine, plan) : 'its plan, which is not there any longer';
  };
  return ({ planId, approved }) => {
    const all = planId === undefined || !approved ? undefined : approvalsOf(engine);
    if (planId === undefined || !all) return undefined;
    const found = known.get(planId);
    const one = found?.all === all ? found : { all, asked: ask(planId) };
    known.set(planId, one);
    return one.asked;
  };
}
