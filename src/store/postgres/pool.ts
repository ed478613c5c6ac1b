// store: the connections of this process to PostgreSQL. In: an address. Out: transactions, each of one organization. What is left of a connection
// that failed is ended, not used again.

import { deserialize, serialize } from 'node:v8';
import type { Client as PgClient } from 'pg';
import pg from 'pg';
import { AppError } from '../../domain/errors.ts';
import { REPLAY_WITHIN_MS, type ReplayBeside, type ReplayKeeper } from '../../domain/replay.ts';
import type { StoreWatch } from '../sqlite/opened-file.ts';
import { AuditNotices, advisoryKey, TELL } from './lease-statements.ts';
import { beginWriting, demandKnownTables, LOCK, migratePostgres } from './organization.ts';
import { isAnswered, placeOf, postgresError, type Session, serverFaultOf } from './shared-tables.ts';

// Requests with an Idempotency-Key that this process answers now, as all processes on the database know of them.

const TAKE = 'SELECT pg_try_advisory_lock($1) AS "isTaken"';

/** The part of a pool that it needs. */
interface Connecting {
  connect(begin: (client: PgClient) => Promise<void>): Promise<PgClient>;
  faultOf(error: unknown): unknown;
}

class HeldKeys {
  private client: Promise<PgClient> | undefined;
  /** Held, or being asked for: a session takes its own lock again, so two that ask here are told apart here. */
  private readonly here = new Set<string>();
  private readonly held = new Set<string>();
  private isClosed = false;

  constructor(private readonly pool: Connecting) {}

  /** Undefined: somebody answers it now. Errors: AppError `store_failed`. */
  async hold(organization: string, id: string): Promise<(() => Promise<void>) | undefined> {
    const key = advisoryKey(`request ${organization} ${id}`);
    if (this.here.has(key)) return undefined;
    this.here.add(key);
    try {
      const client = await this.connected();
      const { rows } = await client.query<{ isTaken: boolean }>(TAKE, [key]);
      if (rows[0]?.isTaken) this.held.add(key);
    } catch (error) {
      throw this.pool.faultOf(error);
    } finally {
      if (!this.held.has(key)) this.here.delete(key);
    }
    return this.held.has(key) ? () => this.release(key) : undefined;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const client = await this.client?.catch(() => undefined);
    await client?.end().catch(() => {});
  }

  /** Never rejects: a lock on a connection that broke is gone. */
  private async release(key: string): Promise<void> {
    this.held.delete(key);
    const client = await this.client?.catch(() => undefined);
    await client?.query('SELECT pg_advisory_unlock($1)', [key]).catch(() => {});
    this.here.delete(key);
  }

  private connected(): Promise<PgClient> {
    this.client ??= this.open();
    return this.client;
  }

  private async open(): Promise<PgClient> {
    try {
      const client = await this.pool.connect(async (made) => {
        // What is under way goes on when a connection breaks, and its locks went with it.
        for (const key of this.held) await made.query(TAKE, [key]);
      });
      client.on('end', () => this.lost());
      return client;
    } catch (error) {
      this.client = undefined;
      throw error;
    }
  }

  private lost(): void {
    this.client = undefined;
    if (this.held.size > 0 && !this.isClosed) void this.connected().catch(() => {});
  }
}

export interface Asked {
  query(sql: string): Promise<{ rows: { pid?: number }[] }>;
}

const WHICH = 'SELECT pg_backend_pid() AS pid';
/** Another client of the pooler may come between. */
const TURNS = 3;

/** Errors: AppError `config`; those of the connections. */
export async function demandOwnSessions(one: Asked, other: Asked, place: string): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    const pids = [await one.query(WHICH), await other.query(WHICH)].map(({ rows }) => rows[0]?.pid);
    if (pids[0] === pids[1])
      throw new AppError(
        'config',
        `database \`${place}\` is reached through a pooler of transactions, which cannot hold a lock: let TRUSTWARD_DB name the server itself, or a pooler of sessions`,
      );
  }
}

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

interface PoolOptions {
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

// What people asked for and a worker does, until it is answered: one row each, of one organization.

/** An answer is asked for within minutes. */
const KEPT = '1 day';

/** `positional`: as the version before wrote it, a serialization of its Node version. It is read, and answered in the same form, for one version. */
export interface Kept {
  form: 'named' | 'positional';
  value: unknown;
}

interface Ask {
  operation: string;
  said: Kept;
}

const BRACE = 0x7b;

function bytesOf({ form, value }: Kept): Buffer {
  return form === 'positional' ? serialize(value) : Buffer.from(JSON.stringify(value));
}

/** JSON begins with a brace, and a serialization never does. */
function keptOf(bytes: Buffer): Kept {
  return bytes[0] === BRACE
    ? { form: 'named', value: JSON.parse(bytes.toString()) }
    : { form: 'positional', value: deserialize(bytes) };
}

const NOTHING = bytesOf({ form: 'named', value: {} });

export class Asks {
  constructor(
    private readonly pool: PostgresPool,
    private readonly organization: string,
  ) {}

  async add(id: string, { operation, said }: Ask): Promise<void> {
    const sql = 'INSERT INTO asks (id, operation, said) VALUES ($1, $2, $3)';
    await this.within((client) => client.query(sql, [id, operation, bytesOf(said)]));
  }

  /** Errors: AppError `not_found`. */
  async find(id: string): Promise<Ask> {
    const row = await this.row(id);
    return { operation: row.operation, said: keptOf(row.said) };
  }

  async answer(id: string, answer: Kept): Promise<void> {
    await this.within((client) => client.query('UPDATE asks SET answer = $2 WHERE id = $1', [id, bytesOf(answer)]));
  }

  /** Errors: AppError `not_found`, also for one that has none yet. */
  async answerOf(id: string): Promise<Kept> {
    const { answer } = await this.row(id);
    if (answer === null) throw gone(id);
    return keptOf(answer);
  }

  /** Why the job `id` could not be done. The text may name subjects, so it is here and not with the job. */
  async noteFault(id: string, fault: object): Promise<void> {
    const sql = `INSERT INTO asks (id, operation, said, answer) VALUES ($1, 'fault', $2, $3)
      ON CONFLICT (org, id) DO UPDATE SET answer = excluded.answer`;
    await this.within((client) => client.query(sql, [id, NOTHING, bytesOf({ form: 'named', value: fault })]));
  }

  async faultOf(id: string): Promise<unknown> {
    const sql = "SELECT answer FROM asks WHERE id = $1 AND operation = 'fault'";
    const { rows } = await this.within((client) => client.query<{ answer: Buffer }>(sql, [id]));
    return rows[0] && keptOf(rows[0].answer).value;
  }

  async prune(): Promise<void> {
    await this.within((client) =>
      client.query(`DELETE FROM asks WHERE asked_at < clock_timestamp() - interval '${KEPT}'`),
    );
  }

  private async row(id: string): Promise<{ operation: string; said: Buffer; answer: Buffer | null }> {
    const { rows } = await this.within((client) =>
      client.query('SELECT operation, said, answer FROM asks WHERE id = $1', [id]),
    );
    const [row] = rows;
    if (!row) throw gone(id);
    return row;
  }

  private within<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.pool.transaction(beginWriting(this.organization), work);
  }
}

function gone(id: string): AppError {
  return new AppError('not_found', `what was asked for as \`${id}\` is not kept any longer`);
}

// The replay that a page asked for, of one organization: under way at one endpoint, and shown by all of them.

const ID = 'replay-beside';
/** The endpoint that made it would have broken it off by then. */
const IS_OLD_REPLAY = `asks.asked_at < clock_timestamp() - interval '${REPLAY_WITHIN_MS + 60_000} milliseconds'`;
/** INVARIANT: one statement: of two endpoints that begin at a time, one does. */
const BEGIN = `INSERT INTO asks (id, operation, said) VALUES ('${ID}', 'replay', $1) ON CONFLICT (org, id)
  DO UPDATE SET said = excluded.said, answer = NULL, asked_at = clock_timestamp() WHERE asks.answer IS NOT NULL OR ${IS_OLD_REPLAY}`;
const GOES_ON = `UPDATE asks SET said = $2 WHERE id = '${ID}' AND said = $1 AND answer IS NULL`;
const END = `UPDATE asks SET answer = $2 WHERE id = '${ID}' AND said = $1 AND answer IS NULL`;
const LAST = `SELECT said, answer, answer IS NULL AND ${IS_OLD_REPLAY} AS is_lost FROM asks WHERE id = '${ID}'`;

interface ReplayRow {
  said: Buffer;
  answer: Buffer | null;
  is_lost: boolean;
}

export class PostgresReplays implements ReplayKeeper {
  constructor(
    private readonly pool: Pick<PostgresPool, 'transaction'>,
    private readonly organization: string,
  ) {}

  async begin(replay: ReplayBeside): Promise<boolean> {
    const { rowCount } = await this.within((client) => client.query(BEGIN, [kept(replay)]));
    return rowCount === 1;
  }

  async goesOn(before: ReplayBeside, now: ReplayBeside): Promise<void> {
    await this.within((client) => client.query(GOES_ON, [kept(before), kept(now)]));
  }

  async end(begun: ReplayBeside, ended: ReplayBeside): Promise<void> {
    await this.within((client) => client.query(END, [kept(begun), kept(ended)]));
  }

  async last(): Promise<ReplayBeside | undefined> {
    const [row] = (await this.within((client) => client.query<ReplayRow>(LAST))).rows;
    if (!row) return undefined;
    const replay = keptOf(row.answer ?? row.said).value as ReplayBeside;
    return row.is_lost
      ? { ...replay, finishedAt: replay.startedAt, fault: 'the endpoint that made it has ended: ask for it again' }
      : replay;
  }

  private within<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.pool.transaction(beginWriting(this.organization), work);
  }
}

/** The same bytes for the same replay: it is known by them. */
function kept(replay: ReplayBeside): Buffer {
  return bytesOf({ form: 'named', value: replay });
}
