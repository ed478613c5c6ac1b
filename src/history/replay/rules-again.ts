// history: rule sets of the past, compiled as the daemon that ran them did. In: the files of a recorded set. Out: rules that judge again, and
// what could not be read of them by this version. The active folder is not asked: it may be another one.
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import type { Lists } from '../../domain/lists.ts';
import type { RecordedRuleSet } from '../../domain/recorded-history.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import { compileRules, type LoadedRule, parseRule, problemLine } from '../../evaluate/index.ts';

/** A rule set as a replay judges by it. */
export interface RulesAgain {
  hash: string;
  /** In the order of their ids, without those of mode `off`. */
  rules: readonly LoadedRule[];
  lists: Lists;
  /** What all of them read; it judges nothing. */
  evaluator: Evaluator;
}

export function rulesAgain(loaded: readonly LoadedRule[], hash: string, lists: Lists): RulesAgain {
  const rules = loaded.filter(({ mode }) => mode !== 'off').toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { hash, rules, lists, evaluator: compileRules(rules, lists) };
}

/** `problems`: one line for each rule that this version refuses. */
export function recordedRules(
  { hash, files }: RecordedRuleSet,
  traits: ReadonlyMap<ActionName, ActionTraits>,
  lists: Lists,
): { rules: RulesAgain; problems: string[] } {
  const loaded: LoadedRule[] = [];
  const problems: string[] = [];
  for (const [file, text] of files) {
    const parsed = parseRule(text, file, { traits });
    if ('rule' in parsed) loaded.push(parsed.rule);
    else problems.push(...parsed.problems.map(problemLine));
  }
  return { rules: rulesAgain(loaded, hash, lists), problems };
}
