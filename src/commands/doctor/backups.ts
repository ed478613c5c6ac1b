// commands: `doctor`: the backups that the daemon makes: the last good one, as the folder shows it.
import { existsSync } from 'node:fs';
import { composeReader } from '../../compose/reader.ts';
import { withReader } from '../../compose/with-reader.ts';
import type { Config } from '../../config/config.ts';
import { spanText } from '../../domain/age-text.ts';
import type { SqliteDatabase } from '../../domain/database.ts';
import { formatDuration } from '../../domain/duration.ts';
import { lineOf } from '../../domain/errors.ts';
import { BackupFolder, isOverdue, type KeptBackup } from '../../store/backup-folder.ts';
import { systemClock } from '../../system/clock.ts';
import { type Check, ok, problem, warning } from './check.ts';

const NAME = 'backups';

/** Nothing to show when they are off, and before there is a database. */
export async function backupChecks({ backup, database }: Config): Promise<Check[]> {
  if (!backup || database.kind === 'postgres' || !existsSync(database.file)) return [];
  const every = `one every ${formatDuration(backup.everyMs)} into ${backup.folder}`;
  const advice = 'start the daemon; its log shows why a backup fails';
  try {
    const nowMs = systemClock.nowMs();
    const last = await newestOf(database, backup.folder, nowMs);
    if (last === undefined) return [warning(NAME, `${every}: no good one of this database yet`, advice)];
    const text = `${every}: the last good one is ${spanText(nowMs - last.atMs)} old (${last.file})`;
    return [isOverdue(last, backup.everyMs, nowMs) ? problem(NAME, text, advice) : ok(NAME, text)];
  } catch (error) {
    return [problem(NAME, `${every}: ${lineOf(error)}`, 'correct its owner or mode, or set TRUSTWARD_BACKUP_DIR')];
  }
}

async function newestOf(database: SqliteDatabase, folder: string, nowMs: number): Promise<KeptBackup | undefined> {
  return withReader(composeReader(database), async (reader) =>
    new BackupFolder(folder, database.file, (await reader.databaseId()) ?? '').newest(nowMs),
  );
}
