// store: a copy of a database at one moment, even while a daemon writes to it, with SQLite's own backup. In: two file names, and a
// check of the copy. Out: one whole file (0600), or none. It never overwrites a file, and writes nothing to the source.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { type Inspection, inspectDatabase, openAsItIs } from './inspect.ts';
import { SqliteReader } from './sqlite-reader.ts';
import { storeError } from './store-fault.ts';

export interface Backup<T> {
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
  check: (copy: SqliteReader) => Promise<T>,
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
    const reader = new SqliteReader(openAsItIs(aside), clock);
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
export function sync(file: string): void {
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
