// commands: `doctor`: the folder of the history: that it is one, can be written, and is read by its owner alone. In: a configuration. Out: checks. It
// opens none of its files: `history verify` does.
import { accessSync, constants, statSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { formatDuration } from '../../domain/duration.ts';
import { lineOf } from '../../domain/errors.ts';
import { historyDays } from '../../history/files/history-days.ts';
import { historyFolderOf } from '../../history/files/segment-files.ts';
import { type Check, ok, problem, warning } from './check.ts';

const NAME = 'history';

export function historyFolderChecks({ db, historyMs }: Config): Check[] {
  const folder = historyFolderOf(db);
  if (historyMs === 0) return [ok(NAME, 'off: TRUSTWARD_HISTORY is 0d')];
  try {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (!stat) return [ok(NAME, 'nothing is recorded yet')];
    const days = historyDays(folder).length;
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const text = `${days} day${days === 1 ? '' : 's'} in ${folder}, kept for ${formatDuration(historyMs)}`;
    if ((stat.mode & 0o077) === 0) return [ok(NAME, text)];
    return [warning(NAME, `${text}: others may look into it`, `\`chmod 700 ${folder}\``)];
  } catch (error) {
    const advice = 'runs go on and are not recorded: correct it, or set TRUSTWARD_HISTORY=0d';
    return [problem(NAME, lineOf(error), advice)];
  }
}
