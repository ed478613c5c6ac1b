// store: the one writer of an SQLite database. In: programs. Out: units of work, each written before anything else of this process happens.

import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { drained, giveWay } from '../../base/turns.ts';
import type { AuditNote, LinkEntry } from '../../domain/audit-entry.ts';
import type { Clock } from '../../domain/ports.ts';
import { ACTING_TABLES, differencesNow, recordedDigests } from '../acting-tables.ts';
import { AuditLog, type Sealing, TAKEN_BACK_MAX, type Writer } from '../audit-log.ts';
import type { Db, Work } from '../queries.ts';
import { SqlStore } from '../sql-store.ts';
import { damagedFault, schemaFault } from '../store-fault.ts';
import { markMoved } from './backup.ts';
import {
  answered,
  migrate,
  type OpenTransaction,
  readMigrations,
  type SqliteDb,
  SqliteWork,
  strangeSchema,
  versionOf,
} from './database.ts';
import { FollowedTables } from './followed-tables.ts';

// Several units of work in one transaction: each wait for the disk serves all that are due. In: units, each with its
// audit entries. Out: each is committed, or fails with its own error. INVARIANT: units are committed in the order in
// which they came, and one that fails leaves nothing behind and takes no other with it.

export class GroupCommit {
  private due: Unit[] = [];

  /** Commits all of these in one transaction, or none of them. */
  constructor(private readonly commit: (units: readonly (() => Work<void>)[]) => void | Promise<void>) {}

  /** `at_once`: before anything else happens, with all that are asked for in this turn. `soon`: with those that come until the next turn. */
  add(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void> {
    return new Promise((done, failed) => {
      this.due.push({ work, done, failed });
      if (when === 'at_once') queueMicrotask(() => this.flush());
      else setImmediate(() => this.flush());
    });
  }

  /** INVARIANT: what commits at once has committed when this returns. */
  private flush(): void {
    const units = this.due;
    this.due = [];
    if (units.length === 0) return;
    const done = () => {
      for (const unit of units) unit.done();
    };
    const failed = (error: unknown) => {
      if (units.length === 1) units[0]?.failed(error);
      else this.commitSingly(units);
    };
    this.committed(units, done, failed);
  }

  /** One of them cannot be committed, or all cannot: each has its own answer. */
  private commitSingly(units: readonly Unit[]): void {
    for (const unit of units) this.committed([unit], unit.done, unit.failed);
  }

  private committed(units: readonly Unit[], done: () => void, failed: (error: unknown) => void): void {
    try {
      const committed = this.commit(units.map(({ work }) => work));
      if (committed) committed.then(done, failed);
      else done();
    } catch (error) {
      failed(error);
    }
  }
}

interface Unit {
  work: () => Work<void>;
  done: () => void;
  failed: (error: unknown) => void;
}

const WORKER = new URL(`./move-log-worker${extname(import.meta.url)}`, import.meta.url);
/** SQLite's own: about 4 MB. */
const PAGES_BEFORE_MOVE = 1_000;

/** Never rejects. */
export async function moveLog(db: Pick<SqliteDb, 'file' | 'exec'>): Promise<void> {
  try {
    db.exec('PRAGMA wal_autocheckpoint = 0');
    // INVARIANT: it keeps the process alive. Whoever closes the database waits for it, and may be the last: Node ends a process with exit code 13 when
    // what it waits for keeps nothing alive.
    await once(new Worker(WORKER, { workerData: db.file }), 'exit');
  } catch {
    // The next commit moves it, and reports what is wrong with the file.
  }
  try {
    db.exec(`PRAGMA wal_autocheckpoint = ${PAGES_BEFORE_MOVE}`);
  } catch {
    // It was closed meanwhile.
  }
}

class SqliteWriter implements Writer {
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

export class SqliteStore extends SqlStore {
  constructor(db: SqliteDb, link: LinkEntry, clock: Clock, sealing?: Sealing) {
    super(new SqliteWriter(db, link, clock, sealing), clock, sealing);
  }

  /** From this commit on the file is opened for writing by nobody but a move. */
  async markMoved(to: string, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* markMoved(store.db, to);
      store.audits.append(notes);
    });
  }
}

// Opens the store for its one writer.

/** Errors: AppError `store_failed`, `store_damaged`, `store_edited` for tables or triggers that no migration made. */
export function openWriter(db: SqliteDb, link: LinkEntry, clock: Clock, sealing: Sealing): SqliteStore {
  // INVARIANT: before the first change, which would run a trigger that somebody put there.
  const strange = strangeSchema(db);
  if (strange !== undefined) throw schemaFault(strange);
  const migrations = readMigrations();
  const isOlder = versionOf(db) < (migrations.at(-1)?.version ?? 0);
  const isRecorded = isOlder && Object.keys(answered(db, recordedDigests)).length > 0;
  const differing = isRecorded ? answered(db, differencesNow) : [];
  migrate(db, migrations, (from, to) => {
    if (!isRecorded) return;
    const log = new AuditLog(new FollowedTables(db, differing), link, clock, sealing);
    answered(db, function* (tables) {
      yield* log.look(tables);
      log.append([{ kind: 'database.migrated', body: { from, to } }]);
      yield* log.flush(tables);
    });
  });
  const store = new SqliteStore(db, link, clock, sealing);
  db.keepSchema();
  noteBrokenIndexes(db);
  return store;
}

/** The digests are over the rows of a table; acting asks by its indexes, and one that lacks a row would hide it. */
function noteBrokenIndexes(db: SqliteDb): void {
  const broken = ACTING_TABLES.find((table) => {
    const [first] = db.all<{ integrity_check: string }>(`PRAGMA integrity_check(${table})`);
    return first?.integrity_check !== 'ok';
  });
  if (broken !== undefined) db.noteFault(damagedFault(`table \`${broken}\` and its indexes differ`));
}
