// The replays of the history beside a database, beside any writer. In: the database. Out: replays. They load no credential, ask no API,
// and read of the database only which API it is of, and its newest run.

import { parseDuration } from '../../base/time.ts';
import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { HistoryReader } from '../../domain/recorded-history.ts';
import type { Replayer, ReplayWork } from '../../domain/replay.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import { historyFolderOf } from '../../history/files/segment-files.ts';
import { asItWas } from '../../history/replay/as-it-was.ts';
import { unreadLists } from '../../history/replay/recorded-world.ts';
import { compareRuleSets, whatIf } from '../../history/replay/what-if.ts';
import { loadRuleFolder } from '../../rules/active/rule-holder.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { composeHistory, readDatabase } from './history.ts';

/** `keep`: the setting TRUSTWARD_HISTORY, where there is one. Errors: AppError `not_found` when nothing was ever recorded. */
export async function composeReplayer(database: Database, keep: string | undefined): Promise<Replayer> {
  const { address, newestRun } = await readDatabase(database);
  const reader = composeHistory(database, address, async () => newestRun);
  if ((await reader.span()) === undefined) {
    const why = keep === undefined ? 'each run adds to it, unless TRUSTWARD_HISTORY is 0d' : whyNone(keep);
    throw new AppError(
      'not_found',
      `there is no history in \`${historyFolderOf(database.beside)}\`: ${why}; \`--db\` names another database`,
    );
  }
  return replayerOver(reader);
}

function whyNone(keep: string): string {
  return parseDuration(keep) === 0 ? 'TRUSTWARD_HISTORY is 0d, so runs are not recorded' : 'no run was recorded yet';
}

function replayerOver(reader: HistoryReader): Replayer {
  return {
    span: () => reader.span(),
    unread: async ({ rules: only, fromMs, toMs }, rulesDirs, { signal }) => {
      const sets = await Promise.all(rulesDirs.map((dir) => rulesIn(dir, { signal })));
      const rules = sets.flat().filter(({ id, mode }) => mode !== 'off' && (only?.includes(id) ?? true));
      return unreadLists(reader, rules, { fromMs, toMs, signal, actions: ACTIONS });
    },
    asItWas: async ({ rules, ...asked }, work) => asItWas(reader, { ...asked, ...work, only: rules, traits: ACTIONS }),
    whatIf: async ({ rules: only, ...asked }, rulesDir, work) => {
      const rules = await rulesIn(rulesDir, work);
      for (const id of only ?? []) demandRule(rules, id, rulesDir);
      return whatIf(reader, rules, { ...asked, ...work, only, actions: ACTIONS });
    },
    compare: async (asked, sets, work) => {
      const [old, fresh] = [await rulesIn(sets.old, work), await rulesIn(sets.new, work)];
      return compareRuleSets(reader, { old, new: fresh }, { ...asked, ...work, actions: ACTIONS });
    },
  };
}

async function rulesIn(dir: string, { signal }: ReplayWork): Promise<readonly LoadedRule[]> {
  return (await loadRuleFolder(dir, ACTIONS, { signal })).rules;
}

/** A mistyped id must not look like a rule that matched nobody. */
function demandRule(rules: readonly LoadedRule[], id: string, dir: string): void {
  const rule = rules.find((one) => one.id === id);
  if (!rule)
    throw new AppError(
      'not_found',
      `there is no rule \`${id}\` in \`${dir}\`: \`trustward rules list --rules ${dir}\` has them`,
    );
  if (rule.mode === 'off')
    throw new AppError('usage', `rule \`${id}\` in \`${dir}\` has mode off, so it does nothing: give it another mode`);
}
