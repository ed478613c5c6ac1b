// store: the store of one organization in PostgreSQL. In: a pool, an organization. Out: all ports; beside other writers of the organization,
// or as its actor, on the connection of a lease.
import type { LinkEntry } from '../../domain/audit-entry.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Sealing } from '../audit-log.ts';
import type { SqlAnswers } from '../kept-answers.ts';
import { SqlReader } from '../reader.ts';
import { SqlRunReader } from '../run-reader.ts';
import { SqlStore } from '../sql-store.ts';
import { ADD, beginWriting } from './organization.ts';
import type { PostgresPool, Transactions } from './pool.ts';
import { PostgresWork } from './postgres-work.ts';
import { PostgresWriter } from './postgres-writer.ts';

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
