// A database with its checkpoints: opened for an engine or an operator, or verified. In: its file. Out: a store and its
// checkpointer. It loads neither rules nor the API, so that a stop needs neither.
import { linkEntry } from '../audit/chain.ts';
import { CheckpointFile, checkpointFileOf } from '../audit/checkpoint-file.ts';
import { type FileCheckpointer, openCheckpointer } from '../audit/checkpointer.ts';
import { databaseLineWith } from '../audit/database-line.ts';
import { signingWith } from '../audit/sealing.ts';
import { createKey, loadOrCreateKey, publicKeyFileOf, readPublicKeys } from '../audit/signing-key.ts';
import { auditSourcesOf, type CopiesElsewhere } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import { type Database, sqliteFileOf } from '../domain/database.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { allCheckpointLines } from '../store/checkpoint-table.ts';
import { openDatabase, openReadOnly } from '../store/database.ts';
import { openWriter } from '../store/open-writer.ts';
import type { SqliteStore } from '../store/sqlite-store.ts';
import { answered } from '../store/sqlite-work.ts';
import { StoreHealth } from '../store/store-health.ts';
import { takeWriterLock, type WriterLock } from '../store/writer-lock.ts';
import { systemClock } from '../system/clock.ts';
import { systemIds } from '../system/ids.ts';
import { systemLog } from '../system/log.ts';
import { Closing } from './closing.ts';
import { composeReader } from './reader.ts';

/** Verifies the record of a database, also while a daemon writes to it. Errors: AppError `not_found`, `store_failed`. */
export async function composeVerification(database: Database, copies: CopiesElsewhere): Promise<AuditCheck> {
  const reader = composeReader(database);
  try {
    return await verifyAudit(auditSourcesOf(database.beside, reader, systemClock, copies));
  } finally {
    await reader.close();
  }
}

export interface AuditWriter {
  store: SqliteStore;
  checkpointer: FileCheckpointer;
  clock: Clock;
  close(): Promise<void>;
}

/**
 * The database and its checkpoints for an operator's change of the record; no rules, no API. With `newKey` the signing
 * key is replaced first. Errors: AppError `store_locked` while a daemon runs, `not_found` without a database,
 * `store_failed`.
 */
export async function composeAuditWriter(database: Database, { newKey = false } = {}): Promise<AuditWriter> {
  const file = sqliteFileOf(database, 'give a SQLite file');
  openReadOnly(file).close();
  const clock = systemClock;
  const log = systemLog({ level: 'silent', form: 'plain' });
  const lock = takeWriterLock(file);
  const closing = new Closing();
  closing.add(() => lock.release());
  try {
    if (newKey) createKey(database.beside);
    const { store, openCheckpoints } = await openStore(database, lock, clock, log);
    closing.add(() => store.close());
    return { store, checkpointer: await openCheckpoints(), clock, close: closing.close };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

export interface OpenedStore {
  store: SqliteStore;
  health: StoreHealth;
  openCheckpoints(): Promise<FileCheckpointer>;
}

export async function openStore(database: Database, lock: WriterLock, clock: Clock, log: Log): Promise<OpenedStore> {
  const health = new StoreHealth(clock, log);
  const db = openDatabase(sqliteFileOf(database, 'give a SQLite file'), health, lock);
  health.watch(db);
  try {
    const file = new CheckpointFile(checkpointFileOf(database.beside));
    const { named, last } = file.look();
    const hasSigned = (answered(db, allCheckpointLines)?.length ?? 0) > 0 || named !== undefined || last !== undefined;
    const key = loadOrCreateKey(database.beside, hasSigned);
    const keys = readPublicKeys(publicKeyFileOf(database.beside));
    let checkpointer: FileCheckpointer | undefined;
    const sealed = () => void checkpointer?.publish();
    const store = openWriter(db, linkEntry, clock, { ...signingWith(key, keys), sealed });
    const openCheckpoints = async () => {
      const naming = { databaseLine: databaseLineWith(key), keys, ids: systemIds(clock) };
      checkpointer = await openCheckpointer({ store, file, ...naming, clock, log });
      return checkpointer;
    };
    return { store, health, openCheckpoints };
  } catch (error) {
    db.close();
    throw error;
  }
}
