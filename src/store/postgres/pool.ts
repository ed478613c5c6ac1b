// store: the connections of this process to PostgreSQL. In: an address. Out: transactions, each of one organization. What is left of a connection
// that failed is ended, not used again.
import pg from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { StoreWatch } from '../store-health.ts';
import type { Session } from './drive.ts';
import { HeldKeys } from './held-keys.ts';
import { demandKnownTables, migratePostgres } from './migrate.ts';
import { AuditNotices, TELL } from './notices.ts';
import { beginWriting, LOCK } from './organization.ts';
import { demandOwnSessions } from './own-sessions.ts';
import { isAnswered, placeOf, postgresError, serverFaultOf } from './postgres-fault.ts';

/** A statement that takes longer is ended: whoever waits for a lock fails then, and the next run tries again. */
const STATEMENT_MS = 60_000;
const CONNECTING_MS = 10_000;
const CONNECTIONS_MAX = 10;

/** INVARIANT: a commit that was answered is on the disk of the server, and of its synchronous standby where there is one. */
const PREPARE = `SET search_path = trustward, pg_catalog; SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS};
  SET lock_timeout = 0; SET default_transaction_isolation = 'read committed';
  SET idle_in_transaction_session_timeout = ${STATEMENT_MS}; SET timezone = 'UTC'; SET jit = off`;

/** Changes no row: a commit of it goes to the log of the server, and so to its disk and to a synchronous standby. */
const MARK = "SELECT pg_logical_emit_message(true, 'trustward', '')";
/** A file of its own, of a megabyte: what is free within the tables would be no proof that the disk is not full. */
const SPACE = 'CREATE TEMP TABLE trustward_space ON COMMIT DROP AS SELECT FROM generate_series(1, 30000)';
/** No organization has this name. */
const NOBODY = '';

/** The part of a connection that transactions need. */
export type Client = Session & Pick<pg.ClientBase, 'query'>;

export interface Transactions {
  /**
   * One transaction, begun and ended here. `isSent`: a request to the fleet follows it. Errors: those of `work`; AppError `store_failed`.
   */
  transaction<T>(work: (client: Client) => Promise<T>, options?: { isSent?: boolean }): Promise<T>;
}

export interface PoolOptions {
  /** Told of failures and commits. */
  watch?: StoreWatch | undefined;
  connectionsMax?: number;
  statementMs?: number;
}

export class PostgresPool {
  /** `host:port/name`. */
  readonly place: string;
  /** To other processes on this database. */
  readonly notices: AuditNotices;
  /** With other processes on this database. */
  readonly keys = new HeldKeys(this);
  private readonly pool: pg.Pool;
  private readonly config: pg.ClientConfig;
  private asking: Promise<void> | undefined;

  /** Errors: AppError `config` for what is no address of PostgreSQL. */
  constructor(
    url: string,
    private readonly options: PoolOptions = {},
  ) {
    this.place = placeOf(url);
    const queryMs = (options.statementMs ?? STATEMENT_MS) * 1.5;
    this.config = {
      connectionString: url,
      application_name: 'trustward',
      connectionTimeoutMillis: CONNECTING_MS,
      // The server may be gone without a word: its own timeout does not reach us then.
      query_timeout: queryMs,
      keepAlive: true,
    };
    const pooled: pg.PoolConfig & { onConnect(client: pg.ClientBase): Promise<void> } = {
      ...this.config,
      max: options.connectionsMax ?? CONNECTIONS_MAX,
      onConnect: (client) => this.prepare(client),
    };
    this.pool = new pg.Pool(pooled);
    // An idle connection that the server ends is taken out by the pool.
    this.pool.on('error', () => {});
    this.notices = new AuditNotices((organizations) => this.pool.query(TELL, [organizations]));
  }

  /** Makes the tables where they are missing. Errors: AppError `store_failed`, `config` behind a pooler of transactions. */
  async migrate(): Promise<void> {
    const client = new pg.Client(this.config);
    client.on('error', () => {});
    try {
      await client.connect();
      await demandOwnSessions(client, this.pool, this.place);
      await migratePostgres(client, this.place);
    } catch (error) {
      throw postgresError(error, this.place);
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Before a first reading. Errors: AppError `store_failed` for tables of a version that this one does not know. */
  async demandKnownTables(): Promise<void> {
    try {
      await demandKnownTables(this.pool, this.place);
    } catch (error) {
      throw this.faultOf(error);
    }
  }

  /**
   * A connection of its own, which the caller ends: for what holds a lock of its session. It works as the role that logged in, which alone
   * may end another session of that role; units of work on it become `trustward_work` first.
   */
  open(organization: string): Promise<pg.Client> {
    return this.connect(async (client) => {
      await client.query("SELECT set_config('trustward.org', $1, false)", [organization]);
    });
  }

  /** A connection of its own, of no organization, which the caller ends. Errors: AppError `store_failed`. */
  async connect(begin: (client: pg.Client) => Promise<void>): Promise<pg.Client> {
    const client = new pg.Client(this.config);
    client.on('error', () => {});
    try {
      await client.connect();
      await this.prepare(client);
      await begin(client);
      return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw this.faultOf(error);
    }
  }

  /** One statement over what belongs to no organization, as the role that logged in. Errors: AppError `store_failed`. */
  async query<T extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      return (await this.pool.query<T>(sql, [...values])).rows;
    } catch (error) {
      throw this.faultOf(error, sql);
    }
  }

  /** Errors: those of `work`; AppError `store_failed` for those of PostgreSQL. */
  async transaction<T>(begin: string, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.connected();
    let isBroken = false;
    try {
      await client.query(begin);
      const answer = await work(client as Client);
      const { command } = await client.query('COMMIT');
      // After an error that the work swallowed, PostgreSQL answers a COMMIT by undoing everything.
      if (command !== 'COMMIT') throw new Error('the transaction was not committed: it had failed');
      return answer;
    } catch (error) {
      isBroken = await this.rollBack(client, error);
      throw this.faultOf(error);
    } finally {
      client.release(isBroken);
    }
  }

  /** What an error means, and remembered. */
  faultOf(error: unknown, sql?: string): unknown {
    const fault = postgresError(error, this.place, sql);
    if (fault instanceof AppError) this.noteFault(fault);
    return fault;
  }

  noteFault(fault: AppError): void {
    const meaning = serverFaultOf(fault);
    if (meaning) this.options.watch?.failed(meaning);
  }

  /** Of several at the same time one asks. Errors: AppError `store_failed` for a server that does not answer, or takes no changes. */
  demandWritable(): Promise<void> {
    this.asking ??= this.transaction(beginWriting(NOBODY), async (client) => {
      await client.query(LOCK); // locks nothing, and a server that is read-only refuses it
    }).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  /** A commit that changes nothing: a fault is over when it succeeds. Errors: AppError `store_failed`. */
  async tryToWrite(): Promise<void> {
    await this.transaction(beginWriting(NOBODY), async (client) => {
      await client.query(LOCK);
      await client.query(MARK);
      await client.query(SPACE);
    });
    this.wrote();
  }

  wrote(): void {
    this.options.watch?.wrote();
  }

  async close(): Promise<void> {
    await this.notices.flush();
    await this.keys.close();
    await this.pool.end();
  }

  private async connected(): Promise<pg.PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw this.faultOf(error);
    }
  }

  /** Returns whether the connection is to be ended. */
  private async rollBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (serverFaultOf(error) !== undefined && !isAnswered(cause)) return true;
    return client.query('ROLLBACK').then(
      () => false,
      () => true,
    );
  }

  private async prepare(client: pg.ClientBase): Promise<void> {
    // One that is ended between two statements says so as an event, which would end the process if nobody heard it; the next statement fails.
    client.on('error', () => {});
    await client.query(PREPARE);
    const { statementMs } = this.options;
    if (statementMs !== undefined) await client.query(`SET statement_timeout = ${statementMs}`);
  }
}
