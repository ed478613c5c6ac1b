// store: one writer at a time. The lock is an exclusive transaction on a database file of its own beside the main one:
// the kernel frees it the moment its process dies, however it dies.
import { existsSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { AppError } from '../domain/errors.ts';
import { openDatabase } from './database.ts';
import { storeError } from './store-fault.ts';

/** Where the active daemon can be reached: written once it listens, for commands that must go through it. */
export interface DaemonAddress {
  pid: number;
  url: string;
  /** The folder of its rules, by its real path; a run over another one is a what-if. */
  rulesDir?: string | undefined;
}

export interface WriterLock {
  announce(address: DaemonAddress): void;
  release(): void;
}

/** INVARIANT: a connection that nothing refers to is closed by garbage collection, and its lock is free then. */
const held = new Set<Database.Database>();

/** Takes the lock, or throws AppError `store_locked` at once: nobody waits behind a daemon. */
export function takeWriterLock(databaseFile: string): WriterLock {
  openDatabase(databaseFile).close(); // makes the folder, and says clearly when it cannot be written
  const connection = lockedFile(databaseFile);
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
    release: () => {
      try {
        rmSync(addressFile, { force: true });
      } catch {
        // A disk that turned read-only keeps it: whoever finds it asks whether that daemon lives.
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
    connection = new Database(file, { timeout: 0 });
    connection.pragma('journal_mode = DELETE');
    connection.exec('BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    connection?.close();
    const told = storeError(error, file);
    if (!(told instanceof AppError) || told.code !== 'store_locked') throw told;
    throw new AppError(
      'store_locked',
      `database \`${databaseFile}\` has an active writer${whoHoldsIt(databaseFile)}: stop it first, or use another TRUSTWARD_DB`,
      { cause: error },
    );
  }
}

/** The active daemon's address, or undefined when none announced itself. A dead daemon's file may remain: ask it. */
export function readDaemonAddress(databaseFile: string): DaemonAddress | undefined {
  const file = addressFileOf(databaseFile);
  if (!existsSync(file)) return undefined;
  try {
    const address = JSON.parse(readFileSync(file, 'utf8')) as Partial<DaemonAddress>;
    return typeof address.url === 'string' && typeof address.pid === 'number' ? (address as DaemonAddress) : undefined;
  } catch {
    return undefined; // half-written or foreign: the same as none
  }
}

export interface LockLook {
  /** Somebody writes now: a daemon, or a command. */
  isHeld: boolean;
  /** What a daemon said of itself when it began to listen; of a dead one when the lock is not held. */
  daemon: (DaemonAddress & { sinceMs: number }) | undefined;
}

/** Who writes, without taking the lock. Errors: AppError `store_failed` when the lock's file cannot be read. */
export function lookAtLock(databaseFile: string): LockLook {
  const address = readDaemonAddress(databaseFile);
  const sinceMs = address && statSync(addressFileOf(databaseFile), { throwIfNoEntry: false })?.mtimeMs;
  const daemon = address && sinceMs !== undefined ? { ...address, sinceMs } : undefined;
  return { isHeld: isHeld(`${oneName(databaseFile)}.lock`), daemon };
}

/** A reader meets the lock as a writer does, and holds nothing itself for longer than it looks. */
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

/** A database that is reached by two names has one writer all the same. */
function oneName(databaseFile: string): string {
  return existsSync(databaseFile) ? realpathSync(databaseFile) : databaseFile;
}

function whoHoldsIt(databaseFile: string): string {
  const address = readDaemonAddress(databaseFile);
  return address ? ` (process ${address.pid}, ${address.url})` : '';
}
