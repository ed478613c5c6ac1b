// commands: `db backup FILE`: a copy of the database, also while a daemon runs: one verified file, and the commands
// that restore it. It only reads, so it works whoever writes, and when nobody can; the copy's own head shows when it
// was taken.

import { checkpointFileOf } from '../audit/checkpoint-file.ts';
import { privateKeyFileOf } from '../audit/signing-key.ts';
import { auditSourcesOf } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import { demandSqlite } from '../domain/database.ts';
import { shellWord } from '../domain/shell-word.ts';
import { auditCheckText } from '../report/audit-check-text.ts';
import { backupDatabase } from '../store/backup.ts';
import type { SqliteReader } from '../store/sqlite-reader.ts';
import { systemClock } from '../system/clock.ts';
import { INSTEAD, nextCommands } from './db-restore.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, write } from './io.ts';
import { sizeText } from './size-text.ts';

export interface BackupOptions extends CommonOptions {
  withHistory?: boolean;
}

/** Exit code 1: the copy exists and equals the database, whose audit is broken; or a file of the history is damaged and was not copied. */
export async function dbBackupCommand(io: Io, file: string, options: BackupOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { file: database } = demandSqlite(databaseOf(io, options), INSTEAD);
  const { bytes, tables, checked } = await backupDatabase(database, file, systemClock, (copy) =>
    verifyCopy(database, copy),
  );
  const { ok, entries, head, bad } = checked;
  const restore = wayBack(database, file);
  const history = options.withHistory ? await historyCopied(database, file) : undefined;
  const result = {
    file,
    bytes,
    tables,
    audit: { ok, entries, head, bad: bad ?? null },
    restore,
    ...(history && { history }),
  };
  const lines = [
    `${file}: ${sizeText(bytes)}, whole (integrity check)`,
    auditCheckText(checked),
    ...(history ? historyLines(history) : []),
    '',
    'To restore it, with the daemon stopped:',
    ...restore.map((line) => `  ${line}`),
    'Read the report of the second. Nothing is changed before the last.',
    `Keep ${privateKeyFileOf(database)} elsewhere too: without it a restored database signs nothing.`,
    `Copy ${checkpointFileOf(database)} elsewhere now and then: it shows how much a backup has forgotten. Never restore it.`,
  ];
  write(io, options, format === 'json' ? JSON.stringify(result, null, 2) : lines.join('\n'));
  return ok && (history?.left.length ?? 0) === 0 ? 0 : 1;
}

async function historyCopied(database: string, file: string) {
  const { copyHistory } = await import('../history/files/copy.ts');
  const { historyFolderOf } = await import('../history/files/segment-files.ts');
  const folder = historyFolderOf(file);
  return { folder, ...copyHistory(historyFolderOf(database), folder) };
}

function historyLines({ folder, files, bytes, left }: Awaited<ReturnType<typeof historyCopied>>): string[] {
  const damaged = left.map((one) => `${one}: damaged, not copied`);
  return [`${folder}: ${files} files, ${sizeText(bytes)}, each checked`, ...damaged];
}

/**
 * Checked against the checkpoints beside the database, up to the end of the copy: a daemon may have sealed more since.
 */
export async function verifyCopy(database: string, copy: SqliteReader): Promise<AuditCheck> {
  const sources = auditSourcesOf(database, copy, systemClock);
  const reach = (await copy.checkpointLines())?.length;
  return verifyAudit({ ...sources, fileLines: () => sources.fileLines()?.slice(0, reach) });
}

function wayBack(database: string, file: string): string[] {
  return [`trustward db restore ${shellWord(file)} --db ${shellWord(database)}`, ...nextCommands(database)];
}
