// evaluate: a rule set as plain data and back, for another thread. In: loaded rules. Out: what a message can carry; and from it rules
// with the same conditions. Compiled conditions hold functions, which no message carries.
import { AppError } from '../../domain/errors.ts';
import type { Lists } from '../../domain/lists.ts';
import type { PortableRules } from '../../domain/verdict.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { LANGUAGE } from '../operators/index.ts';
import { withChanges } from './read-rule.ts';

type PlainRule = Omit<LoadedRule, 'condition' | 'reads'>;

export function portableRules(rules: readonly LoadedRule[], lists: Lists): PortableRules {
  return {
    lists,
    rules: rules.map(({ condition: _, reads: __, ...plain }): PlainRule => ({ ...plain, tests: [], text: '' })),
  };
}

export function rulesOf({ rules }: Pick<PortableRules, 'rules'>): LoadedRule[] {
  return (rules as PlainRule[]).map((plain) => {
    const rule = withChanges(plain, {}, LANGUAGE);
    if (!rule) throw new AppError('internal', `rule \`${plain.id}\` cannot be read in another thread`);
    return rule;
  });
}
