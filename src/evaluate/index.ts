// evaluate: the public interface of stage 2. Rules are loaded, compiled to an Evaluator, explained and tested through these
// functions. Nothing outside imports another file of this folder.

export { rulesThatLose } from './compile/lost-facts.ts';
export { logKnownSince, SKEW_MAX_MS } from './events/windows.ts';
export { type ExplainContext, explain } from './explain/explain.ts';
export { FACT_KINDS, type FactKind, type FactRow, factRows } from './facts/fact-list.ts';
export { type ValueTally, valueTallies } from './facts/value-tally.ts';
export { compileRules } from './judge/evaluator.ts';
export { changesWithoutEffect } from './judge/no-effect.ts';
export { mergedTimes, nextChangeMs, type TimeTerm, type WhenAgain, whenAgain } from './judge/when-again.ts';
export type { LoadedRule } from './language/loaded-rule.ts';
export { didYouMean } from './language/nearest-name.ts';
export {
  byPosition,
  type Place,
  Problems,
  problemLine,
  type RuleProblem,
} from './language/problem.ts';
export { rulesJsonSchema } from './load/json-schema.ts';
export { KnownRules, loadRules, parseRule, type RuleFolder } from './load/load-rules.ts';
export { rulesOf } from './load/portable-rules.ts';
export { readRuleFile } from './load/rule-files.ts';
export { readRuleText, type TextFault } from './load/rule-text.ts';
export { rulesBeyondHistory } from './look-back/beyond-history.ts';
export { formatTestReport } from './rule-tests/format-report.ts';
export { runRuleTests, type TestReport, testRuleInTurns } from './rule-tests/run-tests.ts';
