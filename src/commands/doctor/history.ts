// commands: `doctor`: the history of what runs saw: how much of it is kept, and whether the newest runs are in it.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { composeReader } from '../../compose/reader.ts';
import { withReader } from '../../compose/with-reader.ts';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../domain/database.ts';
import { formatDuration } from '../../domain/duration.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { timeText } from '../../domain/time-text.ts';
import { historyFolderOf, listHistory, sizeOf } from '../../history/files/segment-files.ts';
import { sizeText } from '../size-text.ts';
import { type Check, ok, problem, warning } from './check.ts';

const NAME = 'history';
const ADVICE = 'look into the log of the daemon: runs go on without a history, and `replay` has a gap there';

/** Nothing to show before there is a database. */
export async function historyChecks({ database, historyMs }: Config): Promise<Check[]> {
  if (database.kind === 'sqlite' && !existsSync(database.file)) return [];
  if (historyMs === 0) return [ok(NAME, 'off: nothing is recorded, and nothing can be replayed')];
  const kept = `kept for ${formatDuration(historyMs)}`;
  try {
    const folder = historyFolderOf(database.beside);
    const { segments } = listHistory(folder);
    if (existsSync(folder)) {
      accessSync(folder, constants.W_OK | constants.X_OK);
      if ((statSync(folder).mode & 0o077) !== 0)
        return [warning(NAME, `${kept}: others may look into ${folder}`, `\`chmod 700 ${folder}\``)];
    }
    const lastAt = await lastRunAt(database);
    if (segments.length === 0)
      return [lastAt === undefined ? ok(NAME, `${kept}: nothing yet`) : warning(NAME, `${kept}: nothing yet`, ADVICE)];
    const newest = Math.max(...segments.map(({ toMs }) => toMs));
    const size = sizeText(segments.reduce((sum, { file }) => sum + sizeOf(file), 0));
    const text = `${kept}: ${size}; the newest run in it began at ${timeText(newest)}`;
    return [
      lastAt === undefined || lastAt <= newest ? ok(NAME, text) : warning(NAME, `${text}, and others since`, ADVICE),
    ];
  } catch (error) {
    // The check of the database has named it.
    if (error instanceof AppError && database.kind === 'postgres') return [];
    return [problem(NAME, `${kept}: ${lineOf(error)}`, 'correct the owner and mode of the folder beside the database')];
  }
}

async function lastRunAt(database: Database): Promise<number | undefined> {
  return withReader(composeReader(database), async (reader) => {
    const last = await reader.latestRun();
    return last?.status === 'completed' ? last.startedAt : undefined;
  });
}
