// commands: what a person at a terminal reads before a plan is approved, and the question. In: the plan and the chosen part. Out: whether
// it is approved. A script is not asked: its input or its output is no terminal, or it says `--yes`.
import { chooseFrom } from '../approve/parts.ts';
import { composeReader } from '../compose/reader.ts';
import type { PlanSelection } from '../domain/plan.ts';
import { countLines, partWords, showHidden } from '../report/index.ts';
import { type CommonOptions, databaseOf, type Io } from './io.ts';

export interface PartOptions extends CommonOptions {
  rule?: string[];
  only?: string[];
  except?: string[];
  yes?: boolean;
}

export function selectionOf({ rule = [], only = [], except = [] }: PartOptions): PlanSelection {
  return { rules: rule, only, except };
}

/** A plan that does not wait is not asked about: approving it says why. Errors: AppError `usage` for a part that it does not have. */
export async function isApproved(io: Io, planId: string, options: PartOptions): Promise<boolean> {
  if (!io.ask || options.yes) return true;
  const reader = await composeReader(databaseOf(io, options));
  try {
    const plan = await reader.plan(planId);
    if (plan?.status !== 'pending') return true;
    const { chosen } = chooseFrom(plan, selectionOf(options));
    const head = `plan ${plan.id}: ${partWords(chosen.length, plan.intents.length)}`;
    io.err(`${[head, ...countLines(chosen)].map(showHidden).join('\n')}\n`);
    const answer = await io.ask('approve? [y/N] ');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    await reader.close();
  }
}
