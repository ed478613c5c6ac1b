// cli: `db backup FILE`: a copy of the database, also while a daemon runs: one verified file, and the commands
// that restore it. It only reads, so it works whoever writes, and when nobody can; the copy's own head shows when it
// was taken.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { shellWord } from '../../base/text.ts';
import type { AuditCheck } from '../../domain/audit-entry.ts';
import { databaseName, demandSqlite } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import {
  CheckpointFile,
  checkpointFileOf,
  parseDatabaseLine,
  privateKeyFileOf,
  publicKeyFileOf,
} from '../../engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../../engine/audit/sources.ts';
import { moveDatabase } from '../../runtime/compose/move.ts';
import { databaseIn, postgresIn } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemIds } from '../../runtime/system/ids.ts';
import { SqlReader } from '../../store/reader.ts';
import { backupDatabase, openAsItIs, restoreDatabase } from '../../store/sqlite/backup.ts';
import { SqliteWork } from '../../store/sqlite/database.ts';
import { takeLockAlone } from '../../store/sqlite/writer-lock.ts';
import { auditCheckText } from '../report/lists-text.ts';
import { type CommonOptions, databaseFileOf, type Io, outputOf, sizeText, write } from './io.ts';

// `db restore FILE`: puts a backup in the place of the database, whole or not at all, and keeps the former one.

/** With PostgreSQL. */
const INSTEAD = "use PostgreSQL's own tools (pg_dump, pg_restore), and copy the folder of TRUSTWARD_STATE with it";

interface RestoreOptions extends CommonOptions {
  /** Also in the place of a newer database, or of one of another address. */
  replace?: boolean;
}

/** Errors: AppError `store_locked` while a process writes, `conflict` when it is not meant; as restoreDatabase. */
export async function dbRestoreCommand(io: Io, file: string, options: RestoreOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const database = databaseFileOf(io, options, INSTEAD);
  const lock = takeLockAlone(database);
  try {
    const { aside, bytes, checked } = await restoreDatabase(file, database, {
      clock: systemClock,
      ids: systemIds(systemClock),
      check: async (copy) => {
        if (options.replace !== true) await demandMeant(file, database, copy);
        return verifyBackup(file, database, copy);
      },
    });
    const next = nextCommands(database);
    const { entries, head } = checked;
    const hasKey = existsSync(privateKeyFileOf(database));
    const lines = [
      `${database}: restored from ${file}, ${sizeText(bytes)}, whole (integrity check)`,
      auditCheckText(checked),
      aside ? `the former database is ${aside}` : 'there was no database before',
      ...(hasKey ? [] : [`the key ${privateKeyFileOf(database)} is missing: put it back, or run \`audit new-key\``]),
      '',
      'It is stopped, and every run is a dry run, until you accept it and resume:',
      ...next.map((line) => `  ${line}`),
    ];
    const result = { database, file, bytes, aside: aside ?? null, audit: { entries, head }, next };
    write(io, options, format === 'json' ? JSON.stringify(result, null, 2) : lines.join('\n'));
    return 0;
  } finally {
    lock.release();
  }
}

function nextCommands(database: string): string[] {
  const place = shellWord(database);
  return [
    `trustward run --mode dry-run --db ${place}`,
    `trustward audit accept-restore --db ${place} --reason "…"`,
    `trustward resume --db ${place} --reason "…"`,
  ];
}

/** Errors: AppError `conflict` if the present database knows more than the backup, or is of another address. */
async function demandMeant(file: string, database: string, copy: SqlReader): Promise<void> {
  const present = await presentState(database);
  if (!present) return;
  const [address, { seq }] = [await copy.address(), await copy.auditHead()];
  if (present.address !== undefined && address !== undefined && present.address !== address) {
    const text = `backup \`${file}\` is of ${address}, and database \`${database}\` of ${present.address}`;
    throw new AppError('conflict', `${text}: set TRUSTWARD_DB to another file, or give --replace`);
  }
  if (present.entries <= seq) return;
  const text = `database \`${database}\` can be read, and has ${present.entries - seq} audit entries more than backup \`${file}\``;
  throw new AppError('conflict', `${text}: what they record would be forgotten; give --replace if you mean that`);
}

/** Undefined: there is none, or it cannot be read, which is why it is replaced. */
async function presentState(database: string): Promise<{ address: string | undefined; entries: number } | undefined> {
  if (!existsSync(database)) return undefined;
  try {
    const reader = new SqlReader(new SqliteWork(openAsItIs(database)), systemClock);
    try {
      return { address: await reader.address(), entries: (await reader.auditHead()).seq };
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Against the checkpoints outside, if they are of this database, as far as the backup reaches. Without a key only the chain is checked. */
async function verifyBackup(file: string, database: string, copy: SqlReader): Promise<AuditCheck> {
  const sources = auditSourcesOf(database, copy, systemClock);
  const lines = await copy.checkpointLines();
  const { named } = new CheckpointFile(checkpointFileOf(database)).look();
  const isOwn = named !== undefined && parseDatabaseLine(named)?.database === (await copy.databaseId());
  const outside = isOwn ? sources.fileLines() : lines;
  const isSigned = existsSync(publicKeyFileOf(database));
  const check = await verifyAudit({
    ...sources,
    tableLines: async () => (isSigned ? lines : undefined),
    fileLines: () => (isSigned ? outside?.slice(0, lines?.length) : undefined),
  });
  if (check.ok) return check;
  throw new AppError('conflict', `backup \`${file}\` is not restored: ${auditCheckText(check)}`);
}

interface BackupOptions extends CommonOptions {
  withHistory?: boolean;
}

/** Exit code 1: the copy exists and equals the database, whose audit is broken; or a file of the history is damaged and was not copied. */
export async function dbBackupCommand(io: Io, file: string, options: BackupOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const database = databaseFileOf(io, options, INSTEAD);
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
  const { copyHistory } = await import('../../history/files/segment-files.ts');
  const { historyFolderOf } = await import('../../history/files/segment-files.ts');
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
export async function verifyCopy(database: string, copy: SqlReader): Promise<AuditCheck> {
  const sources = auditSourcesOf(database, copy, systemClock);
  const reach = (await copy.checkpointLines())?.length;
  return verifyAudit({ ...sources, fileLines: () => sources.fileLines()?.slice(0, reach) });
}

function wayBack(database: string, file: string): string[] {
  return [`trustward db restore ${shellWord(file)} --db ${shellWord(database)}`, ...nextCommands(database)];
}

// `db move --to ADDRESS`: takes a SQLite database, its audit and what lies beside it to an organization in PostgreSQL,
// whole or not at all.

interface MoveOptions extends CommonOptions {
  to: string;
}

/** Errors: as moveDatabase; AppError `usage` and `config` for the two databases. */
export async function dbMoveCommand(io: Io, options: MoveOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { to, org, db } = options;
  // The organization is of the target, and so are the files that name it.
  const found = databaseIn({ ...io.env, TRUSTWARD_ORGANIZATIONS: undefined }, { ...(db !== undefined && { db }) });
  const source = demandSqlite(found, 'give the file that is to be moved with --db');
  const target = postgresIn(io.env, to, { ...(org !== undefined && { org }) });
  const { rows, checked } = await moveDatabase(source, target);
  const folder = dirname(target.beside);
  const { entries, head } = checked;
  const moved = rows && Object.fromEntries(rows);
  const next = `TRUSTWARD_DB=${shellWord(target.url)} trustward audit verify --org ${target.organization}`;
  const lines = [
    rows
      ? `${source.file}: moved to ${databaseName(target)}, ${countsText(rows)}`
      : `${source.file}: was moved to ${databaseName(target)} before; it is whole there`,
    auditCheckText(checked),
    `what lay beside it is in ${folder}`,
    '',
    'The file stays as it is, and is opened for writing no more. Go on with:',
    `  ${next}`,
  ];
  const result = { from: source.file, to: target.url, organization: target.organization, rows: moved ?? null, folder };
  const json = JSON.stringify({ ...result, audit: { entries, head } }, null, 2);
  write(io, options, format === 'json' ? json : lines.join('\n'));
  return 0;
}

function countsText(rows: ReadonlyMap<string, number>): string {
  const all = [...rows.values()].reduce((sum, count) => sum + count, 0);
  const [decisions, claims] = [rows.get('decisions') ?? 0, rows.get('claims') ?? 0];
  return `${all} rows (${decisions} decisions, ${claims} in force)`;
}
