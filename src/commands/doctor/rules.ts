// commands: `doctor`: the rules: whether they load, and whether their own tests pass.
import { actionsWith } from '../../act/actions.ts';
import type { Config } from '../../config/config.ts';
import { AppError } from '../../domain/errors.ts';
import { lostFactsText } from '../../domain/lists.ts';
import { beyondHistoryText } from '../../domain/look-back.ts';
import { MODES } from '../../domain/mode.ts';
import { type LoadedRule, rulesBeyondHistory, rulesThatLose, runRuleTests } from '../../evaluate/index.ts';
import { loadRuleFolder } from '../../rule-set/rule-holder.ts';
import { type Check, countOfWords, ok, problem, warning } from './check.ts';

const NAME = 'rules';

/** Returns the rules too; none when they cannot be loaded. */
export async function rulesChecks(config: Config): Promise<{ checks: Check[]; rules: readonly LoadedRule[] }> {
  try {
    const { rules } = await loadRuleFolder(config.rulesDir, actionsWith([...config.notify.webhooks.keys()]));
    return {
      checks: [...checksOf(rules, config.rulesDir), ...listsChecks(config, rules), ...historyChecks(config, rules)],
      rules,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const [first = '', ...more] = error.message.split('\n');
    const others = more.length === 0 ? '' : `, and ${countOfWords(more.length, 'more problem')}`;
    const advice = 'correct it; `trustward rules check` lists every problem';
    return { checks: [problem(NAME, `${first}${others}`, advice)], rules: [] };
  }
}

/** Version 1 has all facts. */
function listsChecks({ lists }: Config, rules: readonly LoadedRule[]): Check[] {
  if (lists === 'v1') return [];
  const name = 'lists';
  const read = ok(name, 'devices and users are read from lists of version 2 (TRUSTWARD_API_LISTS)');
  const advice = 'set TRUSTWARD_API_LISTS=v1 if the server has these lists, or use a rule that does not need it';
  const lost = rulesThatLose(rules).map(({ rule, subject, facts }) =>
    warning(name, lostFactsText(rule, subject, facts), advice),
  );
  return [read, ...lost];
}

function historyChecks({ historyMs }: Config, rules: readonly LoadedRule[]): Check[] {
  const advice = 'keep the history for longer (TRUSTWARD_HISTORY), or use a rule that does not look back so far';
  return rulesBeyondHistory(rules, historyMs).map(({ rule, subject, facts }) =>
    warning(NAME, beyondHistoryText(rule, subject, facts, historyMs), advice),
  );
}

function checksOf(rules: readonly LoadedRule[], dir: string): Check[] {
  const report = runRuleTests(rules, { mutate: false });
  const modes = [...MODES]
    .reverse()
    .map((mode) => [mode, rules.filter((rule) => rule.mode === mode).length] as const)
    .flatMap(([mode, count]) => (count === 0 ? [] : [`${count} ${mode}`]));
  const loaded = `${countOfWords(rules.length, 'rule')} in ${dir} (${modes.join(', ')})`;
  if (report.failed > 0) {
    const failing = report.rules.filter(({ tests }) => tests.some((test) => !test.ok)).map(({ rule }) => rule);
    const text = `${loaded}: ${countOfWords(report.failed, 'test')} of ${failing.join(', ')} failed`;
    return [problem(NAME, text, '`trustward rules test` shows what was expected')];
  }
  const thin = report.rules.filter((rule) => !rule.ok).map(({ rule }) => rule);
  const passed = ok(NAME, `${loaded}; ${countOfWords(report.passed, 'test')} passed`);
  if (thin.length === 0) return [passed];
  const text = `the tests of ${thin.join(', ')} would not notice a mistake`;
  return [passed, warning(NAME, text, '`trustward rules test` shows what is missing')];
}
