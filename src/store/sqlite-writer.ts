// store: the one writer of an SQLite database. In: programs. Out: units of work, each written before anything else of this process happens.
import type { AuditNote, LinkEntry } from '../domain/audit-entry.ts';
import { drained, giveWay } from '../domain/give-way.ts';
import type { Clock } from '../domain/ports.ts';
import { AuditLog, type Sealing } from './audit-log.ts';
import type { SqliteDb } from './database.ts';
import { FollowedTables } from './followed-tables.ts';
import { GroupCommit } from './group-commit.ts';
import { moveLog } from './move-log.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Db, Work } from './queries.ts';
import { SqliteWork } from './sqlite-work.ts';
import { TAKEN_BACK_MAX, type Writer } from './writer.ts';

export class SqliteWriter implements Writer {
  readonly db: SqliteWork;
  readonly audits: AuditLog;
  readonly tables: FollowedTables;
  /** A large commit that others wait for. It never rejects. */
  private awaited: Promise<void> | undefined;
  private logMoved: Promise<void> | undefined;
  /** Who acts is in the same queue as who commits a run: neither waits for the other here. */
  private readonly group = new GroupCommit((units) =>
    this.written(function* () {
      for (const work of units) yield* work();
    }),
  );

  constructor(
    private readonly connection: SqliteDb,
    link: LinkEntry,
    clock: Clock,
    sealing?: Sealing,
  ) {
    this.db = new SqliteWork(connection);
    this.tables = new FollowedTables(connection);
    this.audits = new AuditLog(this.tables, link, clock, sealing);
    drained(this.audits.look(this.db));
  }

  /** It is written before this returns, unless a large one is awaited. */
  async unit<T>(work: () => Work<T>): Promise<T> {
    while (this.awaited) await this.awaited;
    return this.written(work);
  }

  async unitAtOnce<T>(work: () => Work<T>): Promise<T> {
    return this.written(work);
  }

  grouped(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void> {
    return this.group.add(work, when);
  }

  /**
   * In steps, between which others get their turn. Whoever writes meanwhile goes first: what was written is taken back, and written again
   * after it. When that happens again and again, the others wait until it is written.
   */
  async unitInTurns(work: (db: Db) => Work<void>, notes: readonly AuditNote[], isLarge: boolean): Promise<void> {
    while (this.awaited) await this.awaited;
    for (let turn = 0; isLarge && turn < TAKEN_BACK_MAX; turn += 1) if (await this.isWritten(work, notes)) return;
    if (!isLarge) return this.written(() => this.allSteps(work, notes));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.awaited = promise;
    try {
      while (!(await this.isWritten(work, notes)));
    } finally {
      this.awaited = undefined;
      resolve();
    }
  }

  async close(): Promise<void> {
    await this.logMoved;
    this.db.close();
  }

  private written<T>(work: () => Work<T>): T {
    const { audits, db } = this;
    try {
      const answer = this.connection.transaction(() => {
        const result = drained(work());
        drained(audits.flush(db));
        return result;
      });
      audits.committed();
      return answer;
    } catch (error) {
      audits.rolledBack();
      throw error;
    }
  }

  /** Returns false when it was taken back. A database in memory has no second connection. */
  private async isWritten(work: (db: Db) => Work<void>, notes: readonly AuditNote[]): Promise<boolean> {
    const open = this.connection.begin(() => this.audits.rolledBack());
    if (open) return this.writtenIn(open, this.steps(open.db, work, notes));
    this.written(() => this.allSteps(work, notes));
    return true;
  }

  private *allSteps(work: (db: Db) => Work<void>, notes: readonly AuditNote[]): Work<void> {
    yield* work(this.db);
    this.audits.append(notes);
  }

  private *steps(beside: SqliteDb, work: (db: Db) => Work<void>, notes: readonly AuditNote[]): Work<void> {
    const db = new SqliteWork(beside);
    this.tables.follow(beside);
    yield;
    yield* work(db);
    this.audits.append(notes);
    yield* this.audits.flush(db);
  }

  /** Returns false when it was taken back. */
  private async writtenIn(open: OpenTransaction<SqliteDb>, steps: Work<void>): Promise<boolean> {
    try {
      for (let step = steps.next(); !step.done; step = steps.next()) {
        await giveWay();
        if (open.isTakenBack) return false;
      }
      await open.synced();
      if (open.isTakenBack) return false;
      open.commit();
    } catch (error) {
      if (!open.isTakenBack) this.audits.rolledBack();
      throw error;
    } finally {
      open.end();
    }
    this.logMoved = moveLog(this.connection);
    this.audits.committed();
    return true;
  }
}
