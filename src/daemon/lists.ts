// The daemon's part of the lists that devices and users are read from: what rules lose, at the start and after a change of
// the rules. In: the composition. Out: lines of the log, none under version 1.
import type { Composition } from '../compose/compose.ts';
import { lostFactsText } from '../domain/lists.ts';
import { rulesThatLose } from '../evaluate/index.ts';

export function reportLists({ config, log, rules }: Pick<Composition, 'config' | 'log' | 'rules'>): void {
  if (config.lists === 'v1') return;
  log.info({ lists: config.lists }, 'devices and users are read from lists of version 2 (TRUSTWARD_API_LISTS)');
  for (const { rule, subject, facts } of rulesThatLose(rules.all()))
    log.warn({ rule, facts }, lostFactsText(rule, subject, facts));
}
