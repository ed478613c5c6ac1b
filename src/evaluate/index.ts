// evaluate: the public face of stage 2: rules are loaded, compiled to an Evaluator, explained and tested through these alone.
export { compileRules } from './compile-rules.ts';
export { type ExplainContext, type Explanation, explain } from './explain.ts';
export { explanationText } from './explanation-text.ts';
export { rulesJsonSchema } from './json-schema.ts';
export { loadRules, parseRule, type RuleSetLoad } from './load-rules.ts';
export type { LoadedRule, RuleTest } from './loaded-rule.ts';
export { didYouMean } from './nearest-name.ts';
export { type ProblemCode, problemLine, type RuleProblem } from './problem.ts';
export { formatTestReport, type TestReportFormat } from './rule-tests/format-report.ts';
export { type RuleTestReport, runRuleTests, type TestReport } from './rule-tests/run-tests.ts';
