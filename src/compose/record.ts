// A database with its checkpoints: opened for an operator, or verified. In: which one. Out: a store and its checkpointer. It loads neither
// rules nor the API, so that a stop needs neither.
import type { FileCheckpointer } from '../audit/checkpointer.ts';
import { createKey } from '../audit/signing-key.ts';
import { auditSourcesOf, type CopiesElsewhere } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import type { Database } from '../domain/database.ts';
import type { Clock } from '../domain/ports.ts';
import { openReadOnly } from '../store/database.ts';
import type { SqlStore } from '../store/sql-store.ts';
import { systemClock } from '../system/clock.ts';
import { systemLog } from '../system/log.ts';
import { openForWriting, type Part } from './opened.ts';
import { composeReader } from './reader.ts';
import { withReader } from './with-reader.ts';

/** Verifies the record of a database, also while a daemon writes to it. Errors: AppError `not_found`, `store_failed`. */
export async function composeVerification(database: Database, copies: CopiesElsewhere): Promise<AuditCheck> {
  return withReader(composeReader(database), (reader) =>
    verifyAudit(auditSourcesOf(database.beside, reader, systemClock, copies)),
  );
}

export interface AuditWriter {
  store: SqlStore;
  checkpointer: FileCheckpointer;
  clock: Clock;
  close(): Promise<void>;
}

/**
 * The database for an operator's change; no rules, no API. Errors: AppError `store_locked` while a daemon runs on a SQLite file, `not_found`
 * without a database, `store_failed`.
 */
export async function composeOperatorWriter(database: Database): Promise<AuditWriter> {
  return compose(database, 'operator');
}

/** For a change of what the record is: nobody acts meanwhile. With `newKey` the signing key is replaced first. */
export async function composeAuditWriter(database: Database, { newKey = false } = {}): Promise<AuditWriter> {
  return compose(database, 'actor', newKey);
}

async function compose(database: Database, part: Part, newKey = false): Promise<AuditWriter> {
  if (database.kind === 'sqlite') openReadOnly(database.file).close();
  const { store, clock, openCheckpoints, close } = await open(database, part, newKey);
  try {
    return { store, checkpointer: await openCheckpoints(), clock, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function open(database: Database, part: Part, newKey = false) {
  const log = systemLog({ level: 'silent', form: 'plain' });
  const beforeKey = newKey ? () => void createKey(database.beside) : undefined;
  return openForWriting(database, { part, clock: systemClock, log, quietMs: QUIET_MS, beforeKey });
}

/** It calls nothing; a former actor's calls are waited for as long as a request may take. */
const QUIET_MS = 15_000;
