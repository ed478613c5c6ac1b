// library: what `import … from 'trustward/rules'` gives: rules loaded, checked, judged and tested as the engine does it.
// In: rule files, records, events. Out: rules with every problem, verdicts with reasons, test reports. It needs no database and no API,
// and must never act.
import { ACTIONS } from './act/actions.ts';
import type { Explanation } from './domain/explanation.ts';
import type { Facts } from './domain/facts.ts';
import { type ExplainContext, explain, type LoadedRule, parseRule, type RuleProblem } from './evaluate/index.ts';
import { loadRuleFolder } from './rule-set/rule-holder.ts';

export { AppError } from './domain/errors.ts';
export type { TrustEvent } from './domain/event.ts';
export type { Explanation } from './domain/explanation.ts';
export type { Fact, Facts } from './domain/facts.ts';
export type { VerdictName } from './domain/verdict.ts';
export {
  type LoadedRule,
  problemLine,
  type RuleProblem,
  rulesJsonSchema,
  runRuleTests as testRules,
  type TestReport,
} from './evaluate/index.ts';

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
