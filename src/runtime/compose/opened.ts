// A database as it was opened by one who acts, or by one who only commands: its store, what it was opened with, and how it is closed. In: which
// database, in which part. Out: a store. A SQLite file has one writer, and an organization in PostgreSQL one actor beside any number of others.
import { existsSync } from 'node:fs';
import type { Watched } from '../../base/time.ts';
import type { Console } from '../../console/console.ts';
import { type AuditCheck, entryBody } from '../../domain/audit-entry.ts';
import type { Database, PostgresDatabase, SqliteDatabase } from '../../domain/database.ts';
import type { Lease } from '../../domain/lease.ts';
import { stopText } from '../../domain/operator.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { type CheckpointerParts, type FileCheckpointer, openCheckpointer } from '../../engine/audit/checkpointer.ts';
import {
  CheckpointFile,
  checkpointFileOf,
  createKey,
  databaseLineWith,
  linkEntry,
  loadOrCreateKey,
  privateKeyFileOf,
  publicKeyFileOf,
  readPublicKeys,
  signingWith,
} from '../../engine/audit/signing-key.ts';
import { auditSourcesOf, type CopiesElsewhere, verifyAudit } from '../../engine/audit/sources.ts';
import type { LooksMemory } from '../../engine/run/pulled-snapshot.ts';
import type { DeskThread } from '../../history/record/desk-thread.ts';
import type { LastGoodRules } from '../../rules/active/rule-holder.ts';
import type { KnownRules } from '../../rules/load/read-rule.ts';
import type { Sealing } from '../../store/audit-log.ts';
import { allCheckpointLines } from '../../store/audit-rows.ts';
import type { SqlStore } from '../../store/sql-store.ts';
import { refuseMoved } from '../../store/sqlite/backup.ts';
import { answered, openDatabase, openReadOnly, type SqliteDb } from '../../store/sqlite/database.ts';
import { StoreHealth } from '../../store/sqlite/opened-file.ts';
import { openWriter, type SqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { type DaemonAddress, takeWriterLock } from '../../store/sqlite/writer-lock.ts';
import { systemClock } from '../system/clock.ts';
import { systemIds } from '../system/ids.ts';
import { systemLog } from '../system/log.ts';
import type { PostgresServer } from './postgres.ts';
import { composeReader } from './reader.ts';
import { withReader } from './run-reader.ts';

/** Closes what was opened in reverse order, once. One that fails keeps none of the others open; the last failure is thrown. */
export class Closing {
  private readonly ends: (() => Promise<void> | void)[] = [];

  add(end: () => Promise<void> | void): void {
    this.ends.push(end);
  }

  readonly close = async (): Promise<void> => {
    const end = this.ends.pop();
    try {
      await end?.();
    } finally {
      if (end) await this.close();
    }
  };
}

/** `actor`: calls and carries out. `operator`: says what is to be so, and reads. `endpoint`: the same for many people, and others deliver. */
type Part = 'actor' | 'operator' | 'endpoint';

export interface OpenedDatabase<Store extends SqlStore = SqlStore> {
  store: Store;
  health: StoreHealth;
  /** By which everything in it is recorded. */
  clock: Clock;
  /** Since when this process has watched that clock, where other machines record by it too. */
  watched?: () => Watched;
  openCheckpoints(): Promise<FileCheckpointer>;
  /** For commands beside this process. */
  announce(address: DaemonAddress): void;
  /** The right to act, where others may take it over. */
  lease: Lease | undefined;
  close(): Promise<void>;
}

interface Opening {
  part: Part;
  clock: Clock;
  log: Log;
  /** Of this process, closed by whoever opened it; absent: one for this database alone. */
  server?: PostgresServer | undefined;
  /** How long an effect of what a former actor sent may still come. */
  quietMs: number;
  signal?: AbortSignal | undefined;
  /** How long another actor is waited for. */
  waitMs?: number | undefined;
  /** Called when nobody else writes, before the key is read. */
  beforeKey?: (() => void) | undefined;
}

/** What a composition is for, and what it shares with others of the process, which is closed by whoever opened it. */
export interface Place extends Pick<Opening, 'part' | 'server' | 'waitMs'> {
  recording?: DeskThread;
  /** There is one run at most: what only the next one needs is not kept. */
  isOnce?: boolean;
  knownRules?: KnownRules;
  /** It works without valid rules too. */
  lastGood?: LastGoodRules;
  /** What its looks remember; of this composition alone where it is undefined. */
  looks?: LooksMemory;
  /** Of a time that is over: its clock, what the database is bound to later, and who moves the embedded console on. */
  past?: { clock: Clock; binding: string; lead(console: Pick<Console, 'life'>): void };
}

/** Errors: AppError `store_locked` while another process acts, `store_failed`, `config` for a lost key. */
export async function openForWriting(database: Database, opening: Opening): Promise<OpenedDatabase> {
  return database.kind === 'sqlite' ? openSqlite(database, opening) : openPostgres(database, opening);
}

export interface OpenedFile extends OpenedDatabase<SqliteStore> {
  db: SqliteDb;
}

/** `isMove`: whoever moves its rows opens one that was moved too. Errors: as openForWriting. */
export async function openSqlite(
  database: SqliteDatabase,
  { clock, log, beforeKey }: Pick<Opening, 'clock' | 'log' | 'beforeKey'>,
  isMove = false,
): Promise<OpenedFile> {
  const closing = new Closing();
  try {
    const lock = takeWriterLock(database.file);
    closing.add(() => lock.release());
    beforeKey?.();
    const health = new StoreHealth(clock, log);
    const db = openDatabase(database.file, health, lock);
    closing.add(() => db.close());
    health.watch(db);
    if (!isMove) answered(db, refuseMoved);
    const outside = outsideOf(database, answered(db, allCheckpointLines)?.length ?? 0, clock, log);
    const store = openWriter(db, linkEntry, clock, outside.sealing);
    closing.add(() => store.close());
    const openCheckpoints = () => outside.open(store);
    return {
      store,
      db,
      health,
      clock,
      openCheckpoints,
      announce: lock.announce,
      lease: undefined,
      close: closing.close,
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** How long a worker's run is waited for by a person's command. */
const WAIT_MS = 60_000;

async function openPostgres(database: PostgresDatabase, opening: Opening): Promise<OpenedDatabase> {
  const { log, part, quietMs, signal, waitMs = WAIT_MS } = opening;
  const closing = new Closing();
  try {
    // Loaded here alone: with a SQLite file nothing of it is needed.
    const { folderOf, openServer } = await import('./postgres.ts');
    const { PostgresStore, postgresReader } = await import('../../store/postgres/postgres-store.ts');
    const server = opening.server ?? (await openServer(database, opening.clock, log));
    if (!opening.server) closing.add(() => server.close());
    const { pool, leases, health, clock } = server;
    const { organization } = database;
    const lease = part === 'actor' ? await leases.take(organization, { waitMs, quietMs, signal }) : undefined;
    if (lease) closing.add(() => lease.release());
    // INVARIANT: whoever acts sees first whether that clock was set since others recorded by it.
    await clock.measure();
    opening.beforeKey?.();
    const look = async () => {
      const lines = await postgresReader(pool, organization, clock).checkpointLines();
      return outsideOf(database, lines?.length ?? 0, clock, log);
    };
    folderOf(database, organization);
    // INVARIANT: one key, whichever of several processes is the first to open the organization.
    const outside = existsSync(privateKeyFileOf(database.beside))
      ? await look()
      : await server.alone(organization, look);
    const store = await PostgresStore.open({
      pool,
      organization,
      link: linkEntry,
      clock,
      sealing: outside.sealing,
      units: lease,
    });
    closing.add(() => store.close());
    if (lease?.behind !== undefined) {
      await beginStopped(store, clock.nowMs(), lease.behind);
      await lease.recordPosition();
    }
    return {
      store,
      health,
      clock,
      watched: () => clock.watched(),
      openCheckpoints: () => outside.open(store, (work) => server.alone(organization, work)),
      announce: () => {},
      lease,
      close: closing.close,
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** Who stops an organization whose database lacks what it acted on. */
const ITSELF = 'trustward';

/** INVARIANT: whoever resumes knows of what is missing, also when somebody else had stopped it before. */
async function beginStopped(store: SqlStore, at: number, missing: string): Promise<void> {
  const before = await store.stop();
  const [told] = before ? await store.audit({ limit: 1, kind: 'stop.set' }) : [];
  if (told && entryBody(told).missing === missing) return;
  const reason = before ? `${missing} (stopped before: ${stopText(before)})` : missing;
  await store.setStop({ at, by: ITSELF, reason }, [
    { kind: 'stop.set', body: { by: ITSELF, reason, since: at, missing } },
  ]);
}

const OTHER_FOLDER = 'let TRUSTWARD_STATE name the folder that the other processes have, ';

/** The key and the file of checkpoints, which lie beside the database. */
function outsideOf({ beside, kind }: Database, linesInside: number, clock: Clock, log: Log) {
  const file = new CheckpointFile(checkpointFileOf(beside));
  const { named, last } = file.look();
  const hasSigned = linesInside > 0 || named !== undefined || last !== undefined;
  const key = loadOrCreateKey(beside, hasSigned, kind === 'postgres' ? OTHER_FOLDER : '');
  const keys = readPublicKeys(publicKeyFileOf(beside));
  let checkpointer: FileCheckpointer | undefined;
  const sealing: Sealing = { ...signingWith(key, keys), sealed: () => void checkpointer?.publish() };
  const open = async (store: SqlStore, alone?: CheckpointerParts['alone']) => {
    const naming = { databaseLine: databaseLineWith(key), keys, ids: systemIds(clock) };
    checkpointer = await openCheckpointer({ store, file, ...naming, clock, log, alone });
    return checkpointer;
  };
  return { sealing, open };
}

// A database with its checkpoints: opened for an operator, or verified.

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
