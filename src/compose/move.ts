// A SQLite database, moved to an organization in PostgreSQL: its rows, its audit and what lies beside it. In: both databases. Out: what was moved,
// verified. INVARIANT: the writer's lock of the file and the right to act for the organization are held meanwhile, and the file is marked before
// the rows are committed there, so at no moment can both act.
import { auditSourcesOf } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import { databaseName, type PostgresDatabase, type SqliteDatabase } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { auditCheckText } from '../report/audit-check-text.ts';
import { openReadOnly } from '../store/database.ts';
import { movedTo } from '../store/moved-mark.ts';
import { demandEmpty, isContinued, type MovedRows, moveRows } from '../store/postgres/moved-rows.ts';
import { PostgresWork } from '../store/postgres/postgres-work.ts';
import type { SqlReader } from '../store/reader.ts';
import { answered } from '../store/sqlite-work.ts';
import { systemClock } from '../system/clock.ts';
import { systemLog } from '../system/log.ts';
import { Closing } from './closing.ts';
import { copyBeside, copyCheckpoints } from './moved-files.ts';
import { type OpenedFile, openSqlite } from './opened.ts';
import { openServer, type PostgresServer } from './postgres.ts';

export interface Moved {
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
  const { postgresReader } = await import('../store/postgres/postgres-store.ts');
  return verified(target, postgresReader(pool, target.organization, clock), clock);
}

/** Errors: AppError `conflict` for a record that does not verify. */
async function verified({ beside }: PostgresDatabase, reader: SqlReader, clock: Clock): Promise<AuditCheck> {
  const check = await verifyAudit(auditSourcesOf(beside, reader, clock));
  if (check.ok) return check;
  throw new AppError('conflict', `nothing was moved: ${auditCheckText(check)}`);
}
