// store: one of the writers of an organization on PostgreSQL. In: programs. Out: units of work, one after another, each begun by locking the
// organization: the units of all writers of an organization have one order, and its audit has one head.
import type { AuditNote, LinkEntry } from '../../domain/audit-entry.ts';
import type { Clock } from '../../domain/ports.ts';
import { AuditLog, type Sealing } from '../audit-log.ts';
import { GroupCommit } from '../group-commit.ts';
import type { Db, Work } from '../queries.ts';
import { TAKEN_BACK_MAX, type Writer } from '../writer.ts';
import { drive } from './drive.ts';
import { GO_FIRST, IS_URGENT, LOCK, named } from './organization.ts';
import type { Client, PostgresPool } from './pool.ts';
import type { PostgresWork } from './postgres-work.ts';
import { SharedTables } from './shared-tables.ts';

interface Unit<T = unknown> {
  work: () => Work<T>;
  /** Others of this process go before it, and urgent ones of any process: they take back what it has written. */
  isLarge?: boolean;
  isUrgent?: boolean;
  isSent?: boolean;
}

/** A large unit asks after so many steps whether an urgent one waits: about every tenth of a second. */
const STEPS_OF_LOOK = 50;

/** Between two steps of a large unit, when another one goes first. */
class TakenBack extends Error {}

export class PostgresWriter implements Writer {
  readonly audits: AuditLog;
  readonly tables = new SharedTables();
  /** Of those that wait, the first. */
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private isSending = false;
  private readonly group = new GroupCommit((units) => {
    const isSent = this.isSending;
    this.isSending = false;
    return this.inOrder({
      work: function* () {
        for (const work of units) yield* work();
      },
      isSent,
    });
  });

  constructor(
    readonly db: PostgresWork,
    private readonly pool: PostgresPool,
    private readonly organization: string,
    link: LinkEntry,
    clock: Clock,
    sealing?: Sealing,
  ) {
    this.audits = new SharedAuditLog(this.tables, link, clock, sealing);
  }

  /** Before the first unit. */
  *open(): Work<void> {
    yield* this.tables.open(this.db);
    yield* this.audits.look(this.db);
  }

  unit<T>(work: () => Work<T>): Promise<T> {
    return this.inOrder({ work });
  }

  unitAtOnce<T>(work: () => Work<T>): Promise<T> {
    return this.inOrder({ work, isUrgent: true });
  }

  grouped(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void> {
    if (when === 'at_once') this.isSending = true; // a call follows it
    return this.group.add(work, when);
  }

  /** Whoever writes here meanwhile goes first, until that has happened again and again. */
  async unitInTurns(work: (db: Db) => Work<void>, notes: readonly AuditNote[], isLarge: boolean): Promise<void> {
    const { db, audits } = this;
    const whole = function* (): Work<void> {
      yield* work(db);
      audits.append(notes);
    };
    for (let turn = 0; isLarge && turn < TAKEN_BACK_MAX; turn += 1) {
      try {
        return await this.inOrder({ work: whole, isLarge: true });
      } catch (error) {
        if (!(error instanceof TakenBack)) throw error;
      }
    }
    return this.unit(whole);
  }

  async close(): Promise<void> {
    await this.last.catch(() => {});
  }

  /** INVARIANT: one unit at a time: the notes of a unit are collected in `audits`. */
  private inOrder<T>(unit: Unit<T>): Promise<T> {
    this.waiting += 1;
    const done = this.last.then(() => {
      this.waiting -= 1;
      return this.written(unit);
    });
    this.last = done.catch(() => {});
    return done;
  }

  private async written<T>({ work, isLarge, isUrgent, isSent = false }: Unit<T>): Promise<T> {
    const { audits, db } = this;
    try {
      const answer = await this.db.units.transaction(
        async (client) => {
          await client.query(named(this.organization));
          if (isUrgent) await client.query(GO_FIRST);
          await client.query(LOCK);
          const giveWay = isLarge ? this.givingWay(client) : undefined;
          const result = await drive(client, db.name, work(), giveWay);
          await drive(client, db.name, audits.flush(db), giveWay);
          return result;
        },
        { isSent },
      );
      audits.committed();
      this.pool.wrote();
      return answer;
    } catch (error) {
      audits.rolledBack();
      throw this.pool.faultOf(error);
    }
  }

  /** Asked before each step of a large unit. */
  private givingWay(client: Client): () => Promise<void> | undefined {
    let steps = 0;
    const look = async () => {
      if ((await client.query(IS_URGENT)).rows.length > 0) throw new TakenBack(GOES_FIRST);
    };
    return () => {
      if (this.waiting > 0) throw new TakenBack(GOES_FIRST);
      steps += 1;
      return steps % STEPS_OF_LOOK === 0 ? look() : undefined;
    };
  }
}

const GOES_FIRST = 'another unit of work goes first';

/** Others write between its units: it looks where the chain ends before it appends to it. */
class SharedAuditLog extends AuditLog {
  override *demandOwnEnd(db: Db, next?: Parameters<AuditLog['demandOwnEnd']>[1]): Work<void> {
    if (next === undefined) yield* this.look(db);
    yield* super.demandOwnEnd(db, next);
  }
}
