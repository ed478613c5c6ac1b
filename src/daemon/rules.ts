// The daemon's part of the rules for the endpoint: one rule with its source text and what its own tests show, and what a changed text
// would match and do. In: the loaded rules. Out: details, kept as long as the rule is loaded; trials, which wait for their turn among
// the runs. It never reads the rules folder.
import type { Composition } from '../compose/compose.ts';
import { AppError } from '../domain/errors.ts';
import type { Progress } from '../domain/progress.ts';
import type { RuleTestReport } from '../domain/rule-tests.ts';
import { type LoadedRule, testRuleInTurns } from '../evaluate/index.ts';
import type { HttpDeps } from '../http/index.ts';
import { changedRule, type TrialEngine, tryRule } from '../rule-set/try-rule.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import type { UnderWay } from './under-way.ts';

type RulePorts = Pick<HttpDeps, 'rules' | 'ruleRefusal' | 'ruleDetail' | 'tryRule'>;

export function rulePorts({ rules, engine }: Composition, queue: RunQueue, underWay: UnderWay): RulePorts {
  // By the loaded rule and not by its hash, which leaves out the tests.
  const reports = new WeakMap<LoadedRule, Promise<RuleTestReport>>();
  const reportOf = (rule: LoadedRule): Promise<RuleTestReport> => {
    const report = reports.get(rule) ?? testRuleInTurns(rule, { mutate: true });
    reports.set(rule, report);
    return report;
  };
  return {
    rules: () => rules.all(),
    ruleRefusal: () => rules.refusal,
    ruleDetail: async (id) => {
      const rule = rules.all().find((one) => one.id === id);
      rules.active(); // without rules it says why
      if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
      return { rule, text: rule.text, report: await reportOf(rule) };
    },
    tryRule: async (id, text, by) => {
      rules.active();
      // A mistake in the text is answered at once.
      const changed = changedRule(rules.all(), id, text, engine.actions);
      return queue.inTurn('request', by, () =>
        tryRule(trialEngine(engine, underWay.trying(id)), rules.all(), changed).finally(() => underWay.end()),
      );
    },
  };
}

/** INVARIANT: of the store it has only what reads. Its progress is not that of a run: none is under way. */
function trialEngine(engine: Composition['engine'], progress: Progress): TrialEngine {
  const {
    api,
    store,
    clock,
    steady,
    quiet,
    ids,
    log,
    printKey,
    actions,
    settings,
    signal,
    daemonMode,
    rulesDir,
    demo,
    lookBack,
  } = engine;
  const common = { api, clock, steady, quiet, ids, log, actions, settings, signal, daemonMode, rulesDir, demo };
  return { ...common, printKey, lookBack, progress, reader: store };
}
