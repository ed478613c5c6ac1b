// commands: `db restore FILE`: puts a backup in the place of the database, whole or not at all, and keeps the former one. Nothing acts on
// it before an operator accepts it and resumes. In: a backup. Out: where the former database is, and the next commands.
import { existsSync } from 'node:fs';
import { CheckpointFile, checkpointFileOf } from '../audit/checkpoint-file.ts';
import { parseDatabaseLine } from '../audit/database-line.ts';
import { privateKeyFileOf, publicKeyFileOf } from '../audit/signing-key.ts';
import { auditSourcesOf } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import { demandSqlite } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import { shellWord } from '../domain/shell-word.ts';
import { auditCheckText } from '../report/audit-check-text.ts';
import { openAsItIs } from '../store/inspect.ts';
import { restoreDatabase } from '../store/restore.ts';
import { SqliteReader } from '../store/sqlite-reader.ts';
import { takeLockAlone } from '../store/writer-lock.ts';
import { systemClock } from '../system/clock.ts';
import { systemIds } from '../system/ids.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, write } from './io.ts';
import { sizeText } from './size-text.ts';

/** With PostgreSQL. */
export const INSTEAD =
  "use PostgreSQL's own tools (pg_dump, pg_restore), and copy the folder of TRUSTWARD_STATE with it";

export interface RestoreOptions extends CommonOptions {
  /** Also in the place of a newer database, or of one of another address. */
  replace?: boolean;
}

/** Errors: AppError `store_locked` while a process writes, `conflict` when it is not meant; as restoreDatabase. */
export async function dbRestoreCommand(io: Io, file: string, options: RestoreOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { file: database } = demandSqlite(databaseOf(io, options), INSTEAD);
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

export function nextCommands(database: string): string[] {
  const place = shellWord(database);
  return [
    `trustward run --mode dry-run --db ${place}`,
    `trustward audit accept-restore --db ${place} --reason "…"`,
    `trustward resume --db ${place} --reason "…"`,
  ];
}

/** Errors: AppError `conflict` if the present database knows more than the backup, or is of another address. */
async function demandMeant(file: string, database: string, copy: SqliteReader): Promise<void> {
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
    const reader = new SqliteReader(openAsItIs(database), systemClock);
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
async function verifyBackup(file: string, database: string, copy: SqliteReader): Promise<AuditCheck> {
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
