// store: one writer at a time. The lock is an exclusive transaction on a database file of its own beside the main one:
// the kernel frees it when its process ends for any reason.
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import Database from 'better-sqlite3';
import { AppError } from '../../domain/errors.ts';
import { storeError } from '../store-fault.ts';
import { openDatabase } from './database.ts';
import { type InPlace, OpenedFile } from './opened-file.ts';

/** The address of the active daemon: written when it listens, for commands that must go through it. */
export interface DaemonAddress {
  pid: number;
  url: string;
  /** The folder of its rules, by its real path; a run over another one is a what-if. */
  rulesDir?: string | undefined;
  /** Base address of the Management API that it uses; null: the embedded organization. Absent: of an earlier version. */
  apiUrl?: string | null;
}

export interface WriterLock extends InPlace {
  announce(address: DaemonAddress): void;
  release(): void;
}

/** INVARIANT: kept referenced, since garbage collection closes an unreferenced connection and frees its lock. */
const held = new Set<Database.Database>();

/** Takes the lock, or throws AppError `store_locked` at once: a command never waits for a daemon. */
export function takeWriterLock(databaseFile: string): WriterLock {
  openDatabase(databaseFile).close(); // creates the folder, or throws a clear error
  return takeLockAlone(databaseFile);
}

/** The same for a database that may be missing or damaged; its folder exists. */
export function takeLockAlone(databaseFile: string): WriterLock {
  const connection = lockedFile(databaseFile);
  const opened = new OpenedFile(connection.name);
  const addressFile = addressFileOf(databaseFile);
  try {
    rmSync(addressFile, { force: true });
  } catch (error) {
    connection.close();
    throw storeError(error, addressFile);
  }
  held.add(connection);
  return {
    announce: (address) => {
      try {
        writeFileSync(addressFile, `${JSON.stringify(address)}\n`, { mode: 0o600 });
      } catch (error) {
        throw storeError(error, addressFile);
      }
    },
    demandInPlace: () => opened.demandInPlace(),
    release: () => {
      try {
        opened.demandInPlace(); // otherwise another process may hold the lock, and the file is its
        rmSync(addressFile, { force: true });
      } catch {
        // On a disk that became read-only the file stays: its readers check whether that daemon is alive.
      } finally {
        held.delete(connection);
        connection.close();
      }
    },
  };
}

/** An open file that holds the lock. Errors: AppError `store_locked`, `store_failed`. */
function lockedFile(databaseFile: string): Database.Database {
  const file = `${oneName(databaseFile)}.lock`;
  let connection: Database.Database | undefined;
  try {
    keepToOwner(file);
    connection = new Database(file, { timeout: 0 });
    connection.pragma('journal_mode = DELETE');
    connection.exec('BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    connection?.close();
    const fault = storeError(error, file);
    if (!(fault instanceof AppError) || fault.code !== 'store_locked') throw fault;
    throw new AppError(
      'store_locked',
      `database \`${databaseFile}\` has an active writer${whoHoldsIt(databaseFile)}: stop it first, or use another TRUSTWARD_DB`,
      { cause: error },
    );
  }
}

/**
 * 0600: SQLite would create it with the umask's rights. Its journal takes the rights of the file.
 * INVARIANT: an existing file is not opened here: closing it would free the lock that this process may hold on it.
 */
function keepToOwner(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** The active daemon's address, or undefined when there is none. The file of a dead daemon may remain: check that it answers. */
export function readDaemonAddress(databaseFile: string): DaemonAddress | undefined {
  const file = addressFileOf(databaseFile);
  if (!existsSync(file)) return undefined;
  try {
    const address = JSON.parse(readFileSync(file, 'utf8')) as Partial<DaemonAddress>;
    return typeof address.url === 'string' && typeof address.pid === 'number' ? (address as DaemonAddress) : undefined;
  } catch {
    return undefined; // half-written or foreign: counts as none
  }
}

export interface LockLook {
  /** A daemon or a command holds the lock now. */
  isHeld: boolean;
  /** The record of the daemon that listens; of a dead daemon when the lock is not held. */
  daemon: (DaemonAddress & { sinceMs: number }) | undefined;
}

/** Finds who writes, without taking the lock. Errors: AppError `store_failed` when the lock's file cannot be read. */
export function lookAtLock(databaseFile: string): LockLook {
  const address = readDaemonAddress(databaseFile);
  const sinceMs = address && statSync(addressFileOf(databaseFile), { throwIfNoEntry: false })?.mtimeMs;
  const daemon = address && sinceMs !== undefined ? { ...address, sinceMs } : undefined;
  return { isHeld: isHeld(`${oneName(databaseFile)}.lock`), daemon };
}

/** A reader tests the lock as a writer does, and holds nothing after the test. */
function isHeld(file: string): boolean {
  if (!existsSync(file)) return false;
  let connection: Database.Database | undefined;
  try {
    connection = new Database(file, { readonly: true, timeout: 0 });
    connection.prepare('SELECT count(*) FROM sqlite_master').get();
    return false;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') return true;
    throw storeError(error, file);
  } finally {
    connection?.close();
  }
}

function addressFileOf(databaseFile: string): string {
  return `${oneName(databaseFile)}.daemon.json`;
}

/** A database with two names still has one writer. */
function oneName(databaseFile: string): string {
  return existsSync(databaseFile) ? realpathSync(databaseFile) : databaseFile;
}

function whoHoldsIt(databaseFile: string): string {
  const address = readDaemonAddress(databaseFile);
  return address ? ` (process ${address.pid}, ${address.url})` : '';
}
