// library: what `import … from 'trustward/rules'` gives: rules loaded, checked, judged and tested as the engine does it.
// In: rule files, records, events. Out: rules with every problem, verdicts with reasons, test reports. It needs no database and no API,
// and must never act.

import type { Facts } from './domain/facts.ts';
import type { Explanation } from './domain/why.ts';
import { ACTIONS } from './engine/act/actions.ts';
import { loadRuleFolder } from './rules/active/rule-holder.ts';
import { type ExplainContext, explain } from './rules/explain.ts';
import type { LoadedRule } from './rules/language/loaded-rule.ts';
import type { RuleProblem } from './rules/language/problem.ts';
import { parseRule } from './rules/load/read-rule.ts';

export { AppError } from './domain/errors.ts';

export type { TrustEvent } from './domain/event.ts';
export type { Fact, Facts } from './domain/facts.ts';
export type { VerdictName } from './domain/verdict.ts';
export type { Explanation } from './domain/why.ts';

export type { LoadedRule } from './rules/language/loaded-rule.ts';
export { problemLine, type RuleProblem } from './rules/language/problem.ts';
export { rulesJsonSchema } from './rules/load/read-rule.ts';
export { runRuleTests as testRules, type TestReport } from './rules/rule-tests/run-tests.ts';

/** What a rule can know beside the record. What is left out is not known: facts that need it are `unknown`. */
export type JudgeInput = Pick<ExplainContext, 'nowMs'> & Partial<ExplainContext>;

/** Errors: AppError `rules` with a line for each problem of each file; also for a folder that is missing or has no rule. */
export async function loadRules(folder: string): Promise<readonly LoadedRule[]> {
  return (await loadRuleFolder(folder, ACTIONS)).rules;
}

/** One rule from its text. The end of `file` decides between YAML and JSON. Never throws. */
export function checkRule(text: string, file: string): { rule: LoadedRule } | { problems: RuleProblem[] } {
  return parseRule(text, file, { traits: ACTIONS });
}

/** The verdict of one rule on one record as the API shows it, with its reasons and the smallest change that gives another one. */
export function judgeRecord(rule: LoadedRule, record: Facts, input: JudgeInput): Explanation {
  const joins = { users: new Map<string, Facts>(), devices: new Map<string, Facts[]>() };
  return explain(rule, record, { events: [], coverage: [], joins, unavailable: new Set(), ...input });
}
