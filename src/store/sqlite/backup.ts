// store: puts a backup in the place of a database. In: two file names, and a check of the copy. Out: the backup in place, as another
// database than the one that the file outside names; the former one set aside. Killed at any point, the old or the new one is there.

import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import Database from 'better-sqlite3';
import { makeFolder } from '../../base/files.ts';
import { isoTime } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
import { DATABASE_ID } from '../audit-rows.ts';
import { type Db, keepMeta, readMeta, type Work } from '../queries.ts';
import { SqlReader } from '../reader.ts';
import { storeError } from '../store-fault.ts';
import { answered, openDatabase, readMigrations, SqliteDb, SqliteWork } from './database.ts';

// Inspects a database file of any version.

interface Inspection {
  /** The version of its tables, and the version that this program knows. */
  tables: number;
  latest: number;
  /** The faults that SQLite finds, one line each; empty when it finds none. */
  damage: string[];
}

/** Errors: AppError `store_failed`, `store_damaged`, `store_locked`. */
export function openAsItIs(file: string): SqliteDb {
  try {
    return new SqliteDb(new Database(file, { readonly: true, fileMustExist: true, timeout: 5_000 }), file);
  } catch (error) {
    throw storeError(error, file);
  }
}

/** `quick` does not compare indexes with their tables. Errors: as openAsItIs. */
export function inspectDatabase(file: string, check: 'quick' | 'whole'): Inspection {
  const db = openAsItIs(file);
  try {
    const pragma = check === 'quick' ? 'quick_check' : 'integrity_check';
    const lines = db.all<Record<string, string>>(`PRAGMA ${pragma}`).flatMap((row) => Object.values(row));
    return {
      tables: Number(db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0),
      latest: readMigrations().at(-1)?.version ?? 0,
      damage: lines.filter((line) => line !== 'ok'),
    };
  } finally {
    db.close();
  }
}

// A copy of a database at one moment, even while a daemon writes to it, with SQLite's own backup.

interface Backup<T> {
  bytes: number;
  tables: Inspection['tables'];
  /** The result of the check. */
  checked: T;
}

/**
 * Copies `source` to `target`. Errors: AppError `not_found` (no source), `usage` (the target exists), `store_failed` when the source
 * is not a Trustward database or the disk fails, `store_damaged` when the copy is not whole; errors of `check`.
 */
export async function backupDatabase<T>(
  source: string,
  target: string,
  clock: Clock,
  check: (copy: SqlReader) => Promise<T>,
): Promise<Backup<T>> {
  if (!existsSync(source)) throw new AppError('not_found', `there is no database at \`${source}\`: set TRUSTWARD_DB`);
  if (existsSync(target)) throw taken(target);
  const aside = `${target}.${process.pid}.new`;
  try {
    closeSync(openSync(aside, 'wx', 0o600));
    await copy(source, aside);
    const { tables, damage } = inspectDatabase(aside, 'whole');
    if (damage.length > 0) throw damaged(source, damage[0] as string);
    if (tables === 0)
      throw new AppError('store_failed', `database \`${source}\` holds nothing of Trustward: there is nothing to keep`);
    const reader = new SqlReader(new SqliteWork(openAsItIs(aside)), clock);
    const checked = await check(reader).finally(() => reader.close());
    const { size: bytes } = statSync(aside);
    sync(aside);
    giveName(aside, target);
    return { bytes, tables, checked };
  } catch (error) {
    throw storeError(error, target);
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${aside}${end}`, { force: true });
  }
}

async function copy(source: string, target: string): Promise<void> {
  const from = openAsItIs(source);
  try {
    // All pages in one step: in several, each write of a daemon would restart the copy. The daemon can write meanwhile.
    await from.copyTo(target);
  } finally {
    from.close();
  }
  // One self-contained file: without this, opening it would need a `-wal` beside it.
  const made = new Database(target);
  try {
    made.pragma('journal_mode = DELETE');
  } finally {
    made.close();
  }
}

/** A file, or the names in a folder. */
function sync(file: string): void {
  const handle = openSync(file, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Unlike a rename, a link refuses an existing name. Some file systems have no links. */
function giveName(aside: string, target: string): void {
  try {
    linkSync(aside, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(target)) throw taken(target);
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS)$/.test(code ?? '')) throw error;
    renameSync(aside, target);
  }
  sync(dirname(target));
}

function taken(target: string): AppError {
  return new AppError('usage', `\`${target}\` is there already, and a backup never overwrites: give another name`);
}

function damaged(source: string, what: string): AppError {
  const advice = 'keep the backups that you have, and restore one';
  return new AppError('store_damaged', `database \`${source}\` is damaged, and no copy was kept (${what}): ${advice}`);
}

interface Restored<T> extends Backup<T> {
  /** The former database; undefined when there was none. */
  aside: string | undefined;
}

interface RestoreParts<T> {
  clock: Clock;
  ids: Ids;
  /** Throws if the backup must not take the database's place. */
  check(copy: SqlReader): Promise<T>;
}

/**
 * INVARIANT: the caller holds the writer's lock of `database`. Errors: AppError `not_found` (no backup), `store_failed`,
 * `store_damaged`; errors of `check`. Then the database is as it was.
 */
export async function restoreDatabase<T>(
  backup: string,
  database: string,
  { clock, ids, check }: RestoreParts<T>,
): Promise<Restored<T>> {
  if (!existsSync(backup)) throw new AppError('not_found', `there is no backup at \`${backup}\``);
  const { tables, latest } = inspectDatabase(backup, 'quick');
  if (tables > latest) throw newer(backup, tables, latest);
  const restoring = `${database}.restoring`;
  try {
    rmSync(restoring, { force: true }); // of a process that was killed
    const copied = await backupDatabase(backup, restoring, clock, check);
    nameAnew(restoring, ids.next());
    const aside = existsSync(database) ? setAside(database, clock.nowMs()) : undefined;
    renameSync(restoring, database);
    sync(dirname(database));
    return { ...copied, aside };
  } catch (error) {
    throw storeError(error, database);
  } finally {
    rmSync(restoring, { force: true });
  }
}

/** Under a new id it is not the database that the file outside names: the next start takes it for a restored one. */
function nameAnew(file: string, id: string): void {
  const db = openDatabase(file);
  try {
    answered(db, (tables) => keepMeta(tables, DATABASE_ID, id));
  } finally {
    db.close();
  }
  selfContained(file);
  sync(file);
}

/** A second name: the first one stays until the backup takes it. */
function setAside(database: string, at: number): string {
  const aside = `${database}.before-restore-${at}`;
  selfContained(database);
  for (const end of ['-wal', '-shm'])
    if (existsSync(`${database}${end}`)) renameSync(`${database}${end}`, `${aside}${end}`);
  try {
    linkSync(database, aside);
  } catch {
    copyFileSync(database, aside); // some file systems have no links
    sync(aside);
  }
  sync(dirname(database));
  return aside;
}

/** Moves the write-ahead log into the file: another database must not read it. One that is damaged keeps it, and takes it along. */
function selfContained(file: string): void {
  let connection: Database.Database | undefined;
  try {
    connection = new Database(file, { timeout: 5_000 });
    connection.pragma('journal_mode = DELETE');
  } catch {
    // It is not a database, or damaged.
  } finally {
    connection?.close();
  }
}

function newer(backup: string, tables: number, latest: number): AppError {
  const text = `backup \`${backup}\` was written by a newer version (tables ${tables}, this one knows ${latest}): update Trustward`;
  return new AppError('store_failed', text);
}

// The folder of backups that the daemon makes. In: finished copies. Out: files whose names sort by time, the oldest of
// them removed. INVARIANT: only files with exactly such a name, of this database, are ever removed: a person's own
// files stay, and so do backups of a database that was here before a restore. No call waits: the folder may be on a
// server that does not answer.

export interface KeptBackup {
  file: string;
  /** When it was begun, epoch ms, in whole seconds: its name has it. */
  atMs: number;
}

/** One that is being made, and one more attempt. */
const GRACE_MS = 3_600_000;

export function isOverdue({ atMs }: KeptBackup, everyMs: number, nowMs: number): boolean {
  return nowMs - atMs > everyMs + GRACE_MS;
}

export class BackupFolder {
  private readonly stem: string;
  private readonly mark: string;

  /** @param databaseId of the database as it is now. */
  constructor(
    readonly folder: string,
    database: string,
    databaseId: string,
  ) {
    this.stem = basename(database, extname(database));
    this.mark = databaseId.slice(-8);
  }

  /** Makes the folder, and removes what a killed process left half-written. Errors: those of node:fs. */
  async prepare(): Promise<void> {
    await makeFolder(this.folder, 0o700);
    const partial = basename(this.partial());
    for (const name of await readdir(this.folder))
      if (name.startsWith(partial)) await rm(join(this.folder, name), { force: true });
  }

  /** Where a copy is written before it is known to be good. */
  partial(): string {
    return join(this.folder, `.${this.stem}-${this.mark}.partial`);
  }

  /** Gives the finished copy its name. Errors: those of node:fs. */
  async accept(atMs: number): Promise<KeptBackup> {
    const second = isoTime(atMs).slice(0, 19).replaceAll(/[-:]/g, '');
    const file = join(this.folder, `${this.stem}-${second}Z-${this.mark}.db`);
    await rename(this.partial(), file);
    await syncNames(this.folder);
    return { file, atMs: Math.floor(atMs / 1_000) * 1_000 };
  }

  /** Newest first; none when there is no folder. Errors: those of node:fs. */
  async all(): Promise<KeptBackup[]> {
    const found = (await namesIn(this.folder)).flatMap((name) => {
      const atMs = this.timeOf(name);
      return atMs === undefined ? [] : [{ file: join(this.folder, name), atMs }];
    });
    return found.sort((a, b) => b.atMs - a.atMs);
  }

  /** The newest that was not begun after `nowMs`: one of a clock that ran ahead is none. */
  async newest(nowMs: number): Promise<KeptBackup | undefined> {
    return (await this.all()).find(({ atMs }) => atMs <= nowMs);
  }

  /** Removes all but `keep`; never the one just made, whatever the clock showed when the others were. */
  async rotate(made: KeptBackup, keep: number): Promise<string[]> {
    const others = (await this.all()).filter(({ file }) => file !== made.file);
    const removed = others.slice(keep - 1).map(({ file }) => file);
    for (const file of removed) await rm(file, { force: true });
    return removed;
  }

  private timeOf(name: string): number | undefined {
    const [start, end] = [`${this.stem}-`, `Z-${this.mark}.db`];
    if (!name.startsWith(start) || !name.endsWith(end)) return undefined;
    const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)$/.exec(name.slice(start.length, -end.length));
    if (!parts) return undefined;
    const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }
}

async function syncNames(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export const MOVED_TO = 'moved_to';

/** For people: the address, and the organization there. Undefined: it was not moved. */
export function* movedTo(db: Db): Work<string | undefined> {
  if ((yield* db.columnsOf(['meta'])).length === 0) return undefined;
  return yield* readMeta(db, MOVED_TO);
}

export function* markMoved(db: Db, to: string): Work<void> {
  yield* db.insert('meta', { key: MOVED_TO, value: to });
}

/** Errors: AppError `config`, for whoever would write. */
export function* refuseMoved(db: Db): Work<void> {
  const to = yield* movedTo(db);
  if (to === undefined) return;
  throw new AppError(
    'config',
    `database \`${db.name}\` was moved to \`${to}\`, and nothing goes on with the file: set TRUSTWARD_DB to that address; if the move was interrupted, run the same \`trustward db move\` again`,
  );
}
