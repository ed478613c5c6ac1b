// The daemon's part of the rules for the endpoint: one rule with its source text and what its own tests show. In: the active rules.
// Out: details, made when they are asked for and kept as long as the rule is loaded. It never reads the rules folder.
import type { Composition } from '../compose/compose.ts';
import { AppError } from '../domain/errors.ts';
import type { RuleTestReport } from '../domain/rule-tests.ts';
import { type LoadedRule, testRuleInTurns } from '../evaluate/index.ts';
import type { HttpDeps } from '../http/index.ts';

export function rulePorts({ rules }: Composition): Pick<HttpDeps, 'ruleDetail'> {
  // By the loaded rule and not by its hash, which leaves out the tests.
  const reports = new WeakMap<LoadedRule, Promise<RuleTestReport>>();
  const reportOf = (rule: LoadedRule): Promise<RuleTestReport> => {
    const report = reports.get(rule) ?? testRuleInTurns(rule, { mutate: true });
    reports.set(rule, report);
    return report;
  };
  return {
    ruleDetail: async (id) => {
      const rule = rules.all().find((one) => one.id === id);
      if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
      return { rule, text: rule.text, report: await reportOf(rule) };
    },
  };
}
