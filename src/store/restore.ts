// store: puts a backup in the place of a database. In: two file names, and a check of the copy. Out: the backup in place, as another
// database than the one that the file outside names; the former one set aside. Killed at any point, the old or the new one is there.
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../domain/errors.ts';
import type { Clock, Ids } from '../domain/ports.ts';
import { type Backup, backupDatabase, sync } from './backup.ts';
import { saveDatabaseId } from './checkpoint-table.ts';
import { openDatabase } from './database.ts';
import { inspectDatabase } from './inspect.ts';
import type { SqliteReader } from './sqlite-reader.ts';
import { answered } from './sqlite-work.ts';
import { storeError } from './store-fault.ts';

export interface Restored<T> extends Backup<T> {
  /** The former database; undefined when there was none. */
  aside: string | undefined;
}

export interface RestoreParts<T> {
  clock: Clock;
  ids: Ids;
  /** Throws if the backup must not take the database's place. */
  check(copy: SqliteReader): Promise<T>;
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
    answered(db, (tables) => saveDatabaseId(tables, id));
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
