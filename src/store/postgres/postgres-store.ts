// store: the store of one organization in PostgreSQL. In: a pool, an organization. Out: all ports; beside other writers of the organization,
// or as its actor, on the connection of a lease.
import type { AuditNote, LinkEntry } from '../../domain/audit-entry.ts';
import type { Clock } from '../../domain/ports.ts';
import { AuditLog, type Sealing, TAKEN_BACK_MAX, type Writer } from '../audit-log.ts';
import type { Db, Work } from '../queries.ts';
import { SqlReader } from '../reader.ts';
import { SqlRunReader } from '../run-reader.ts';
import { SqlStore } from '../sql-store.ts';
import { GroupCommit } from '../sqlite/sqlite-store.ts';
import type { SqlAnswers } from '../token-table.ts';
import { LOOK } from './lease-statements.ts';
import { ADD, beginReading, beginWriting, GO_FIRST, IS_URGENT, LOCK, named } from './organization.ts';
import type { Client, PostgresPool, Transactions } from './pool.ts';
import { PostgresWork } from './postgres-work.ts';
import { drive, SharedTables } from './shared-tables.ts';

// One of the writers of an organization on PostgreSQL.

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

class PostgresWriter implements Writer {
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

export interface PostgresParts {
  pool: PostgresPool;
  organization: string;
  link: LinkEntry;
  clock: Clock;
  sealing?: Sealing | undefined;
  /** Of the lease, for an actor. */
  units?: Transactions | undefined;
}

export class PostgresStore extends SqlStore {
  /** Of those that answer the organization's requests. */
  private hold: SqlAnswers['hold'] | undefined;

  /** Reads all that acting rests on. Errors: AppError `store_failed`. */
  static async open({ pool, organization, link, clock, sealing, units }: PostgresParts): Promise<PostgresStore> {
    await pool.transaction(beginWriting(organization), (client) => client.query(ADD));
    const db = new PostgresWork(pool, organization, units);
    const writer = new PostgresWriter(db, pool, organization, link, clock, sealing);
    await db.reading(writer.open());
    const store = new PostgresStore(writer, clock, sealing);
    store.hold = (id) => pool.keys.hold(organization, id);
    store.onAudited((notes) => pool.notices.tell(organization, notes));
    return store;
  }

  override keptAnswers(): SqlAnswers {
    return super.keptAnswers(this.hold);
  }
}

/** `isOwner`: its `close` ends the pool, which nobody else uses. */
export function postgresReader(pool: PostgresPool, organization: string, clock: Clock, isOwner = false): SqlReader {
  return new SqlReader(new PostgresWork(pool, organization, undefined, isOwner), clock);
}

export function postgresRunReader(
  pool: PostgresPool,
  organization: string,
  clock: Clock,
  isOwner = false,
): SqlRunReader {
  return new SqlRunReader(new PostgresWork(pool, organization, undefined, isOwner), clock);
}

// Who acts for an organization now, for people.

export interface LeaseLook {
  holder: string;
  /** It ended everything that it sent: nobody acts now. */
  isReleased: boolean;
  /** Since its last sign of life. */
  silentMs: number;
  leaseMs: number;
}

interface Row {
  holder: string;
  is_clean: boolean;
  silent_ms: number;
  lease_ms: number;
}

/** Undefined: nobody has ever acted for it. Errors: AppError `store_failed`. */
export async function lookAtLease(pool: PostgresPool, organization: string): Promise<LeaseLook | undefined> {
  const { rows } = await pool.transaction(beginReading(organization), (client) =>
    client.query<Row>(LOOK, [organization]),
  );
  const [row] = rows;
  return (
    row && {
      holder: row.holder,
      isReleased: row.is_clean,
      silentMs: Number(row.silent_ms),
      leaseMs: Number(row.lease_ms),
    }
  );
}
