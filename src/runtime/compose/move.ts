// A SQLite database, moved to an organization in PostgreSQL: its rows, its audit and what lies beside it. In: both databases. Out: what was moved,
// verified. INVARIANT: the writer's lock of the file and the right to act for the organization are held meanwhile, and the file is marked before
// the rows are committed there, so at no moment can both act.
import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolderSync, syncFolderOf, writeWhole } from '../../base/files.ts';
import type { AuditCheck } from '../../domain/audit-entry.ts';
import { databaseName, type PostgresDatabase, type SqliteDatabase } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { archiveFolderOf } from '../../engine/audit/archive.ts';
import { checkpointFileOf, privateKeyFileOf, publicKeyFileOf } from '../../engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../../engine/audit/sources.ts';
import { auditCheckText } from '../../faces/report/lists-text.ts';
import { evidenceFolder } from '../../history/evidence/evidence-files.ts';
import { copyHistory, historyFolderOf } from '../../history/files/segment-files.ts';
import {
  demandEmpty,
  isContinued,
  type MovedRows,
  moveRows,
  PostgresWork,
} from '../../store/postgres/postgres-work.ts';
import type { SqlReader } from '../../store/reader.ts';
import { movedTo, openAsItIs } from '../../store/sqlite/backup.ts';
import { answered, openReadOnly } from '../../store/sqlite/database.ts';
import { consoleDatabaseOf } from '../config/name-reader.ts';
import { systemClock } from '../system/clock.ts';
import { systemLog } from '../system/log.ts';
import { Closing, type OpenedFile, openSqlite } from './opened.ts';
import { openServer, type PostgresServer } from './postgres.ts';

// What lies beside a database, copied to another place: the keys, the checkpoints outside, the endpoint's token, the
// history, archives of the audit and the embedded console.

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Errors: AppError `conflict` for a place that has another key, `store_failed`; those of node:fs. */
async function copyBeside(source: string, target: string): Promise<void> {
  refuseOtherKey(source, target);
  const folder = dirname(target);
  makeFolderSync(folder);
  chmodSync(folder, FOLDER_MODE);
  for (const fileOf of [privateKeyFileOf, publicKeyFileOf, tokenFileOf]) copyFile(fileOf(source), fileOf(target));
  copyCheckpoints(source, target);
  const { left } = copyHistory(historyFolderOf(source), historyFolderOf(target));
  if (left.length > 0)
    throw new AppError(
      'store_failed',
      `\`${left[0]}\` of the history is damaged: move it to another folder, and repeat`,
    );
  for (const folderOf of [evidenceFolder, archiveFolderOf]) copyFolder(folderOf(source), folderOf(target));
  await copyConsole(consoleDatabaseOf({ beside: source }), consoleDatabaseOf({ beside: target }));
}

/** The last file to change: with it, the copy is of the same state as the database. */
function copyCheckpoints(source: string, target: string): void {
  copyFile(checkpointFileOf(source), checkpointFileOf(target));
}

function tokenFileOf(beside: string): string {
  return `${beside}.token`;
}

function refuseOtherKey(source: string, target: string): void {
  const [own, there] = [privateKeyFileOf(source), privateKeyFileOf(target)];
  if (!existsSync(there) || readFileSync(own, 'utf8') === readFileSync(there, 'utf8')) return;
  const text = `\`${there}\` is the key of another database: the folder of an organization belongs to one database`;
  throw new AppError('conflict', `${text}; set it aside, or give another TRUSTWARD_STATE`);
}

function copyFile(source: string, target: string): void {
  if (existsSync(source)) writeWhole(target, readFileSync(source, 'utf8'), FILE_MODE);
}

/** Text files, one level deep: archives and daily evidence. */
function copyFolder(source: string, target: string): void {
  if (!existsSync(source)) return;
  makeFolderSync(target);
  chmodSync(target, FOLDER_MODE);
  for (const entry of readdirSync(source, { withFileTypes: true }))
    if (entry.isFile() && !entry.name.endsWith('.new')) copyFile(join(source, entry.name), join(target, entry.name));
}

async function copyConsole(source: string, target: string): Promise<void> {
  if (!existsSync(source)) return;
  const aside = join(dirname(target), `.${basename(target)}.new`);
  rmSync(aside, { force: true }); // of a process that was killed
  closeSync(openSync(aside, 'wx', FILE_MODE));
  const from = openAsItIs(source);
  try {
    await from.copyTo(aside);
  } finally {
    from.close();
  }
  for (const end of ['-wal', '-shm']) rmSync(`${target}${end}`, { force: true });
  renameSync(aside, target);
  syncFolderOf(target);
}

interface Moved {
  /** Undefined: an earlier, interrupted move had ended there. */
  rows: MovedRows | undefined;
  /** Of the database in PostgreSQL. */
  checked: AuditCheck;
}

/** A worker that acts for the organization ends its run within this. */
const WAIT_MS = 30_000;

/**
 * Safe to repeat after an interruption. Errors: AppError `store_locked` while a process writes to the file or acts for the organization,
 * `conflict` for an organization with rows or a record that does not verify, `not_found`, `store_failed`.
 */
export async function moveDatabase(source: SqliteDatabase, target: PostgresDatabase): Promise<Moved> {
  openReadOnly(source.file).close();
  const [clock, log] = [systemClock, systemLog({ level: 'silent', form: 'plain' })];
  const closing = new Closing();
  try {
    const file = await openSqlite(source, { clock, log }, true);
    closing.add(file.close);
    const marked = answered(file.db, movedTo);
    const to = databaseName(target);
    if (marked !== undefined && marked !== to)
      throw new AppError('conflict', `database \`${source.file}\` was moved to \`${marked}\` already`);
    const server = await openServer(target, clock, log);
    closing.add(() => server.close());
    const { organization } = target;
    const lease = await server.leases.take(organization, { waitMs: WAIT_MS, quietMs: 0 });
    closing.add(() => lease.release());
    const there = new PostgresWork(server.pool, organization);
    if (marked !== undefined && (await there.reading(isContinued(there, file.db))))
      return { rows: undefined, checked: await checkedThere(target, server, clock) };
    await there.reading(demandEmpty(there, organization)); // before the files of one that has rows are replaced
    if (marked === undefined) await (await file.openCheckpoints()).publish();
    await copyBeside(source.beside, target.beside);
    return await moved(file, { source, target, server, to, isMarked: marked !== undefined, clock });
  } finally {
    await closing.close();
  }
}

interface Moving {
  source: SqliteDatabase;
  target: PostgresDatabase;
  server: PostgresServer;
  to: string;
  isMarked: boolean;
  clock: Clock;
}

async function moved(file: OpenedFile, { source, target, server, to, isMarked, clock }: Moving): Promise<Moved> {
  let checked: AuditCheck | undefined;
  const { organization } = target;
  const rows = await moveRows({
    pool: server.pool,
    organization,
    source: file.db,
    clock,
    check: async (reader) => {
      checked = await verified(target, reader, clock);
    },
    mark: async () => {
      const note = { kind: 'database.moved', body: { from: source.file, to: target.url, organization } } as const;
      if (!isMarked) await file.store.markMoved(to, [note]);
      copyCheckpoints(source.beside, target.beside);
    },
  });
  return { rows, checked: checked as AuditCheck };
}

async function checkedThere(target: PostgresDatabase, { pool }: PostgresServer, clock: Clock): Promise<AuditCheck> {
  const { postgresReader } = await import('../../store/postgres/postgres-store.ts');
  return verified(target, postgresReader(pool, target.organization, clock), clock);
}

/** Errors: AppError `conflict` for a record that does not verify. */
async function verified({ beside }: PostgresDatabase, reader: SqlReader, clock: Clock): Promise<AuditCheck> {
  const check = await verifyAudit(auditSourcesOf(beside, reader, clock));
  if (check.ok) return check;
  throw new AppError('conflict', `nothing was moved: ${auditCheckText(check)}`);
}
