// store: a lease that was taken: the one connection that holds the lock, by which everything of acting is committed. In: units of work, one
// after the other. Out: their results while the lease is certain; after that an error for each, whatever they were.
import type { Client, ClientBase, QueryConfig } from 'pg';
import { AGREED_MS, type Watched } from '../../base/time.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  type Hearing,
  LEASE_MS,
  type Lease,
  type LeaseChange,
  type Leases,
  type Listening,
  type Position,
  type Positions,
  type TakeOptions,
  whatIsMissing,
} from '../../domain/lease.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { ASSERT_FENCE, advisoryKey, BEAT, END_STALE, lockKeyOf, RELEASE, TAKE } from './lease-statements.ts';
import type { Client as Connected, PostgresPool, Transactions } from './pool.ts';
import { postgresError } from './shared-tables.ts';

// The connection of a lease, when it ends or does not answer.

/** Ends it without a word: the server frees its locks. */
function destroy(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** A connection that has not answered after `ms` is ended, and the question with it. */
async function withinMs<T>(clock: Clock, ms: number, client: Client, question: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => destroy(client),
    () => undefined,
  );
  try {
    return await question;
  } finally {
    done.abort();
    await late;
  }
}

/** What an error of it means, for whoever works with it. */
function errorOn(client: Client, error: unknown): unknown {
  return postgresError(error, `${client.host}:${client.port}/${client.database}`);
}

/** The end of acting for an organization, with its reason. */
function leaseFault(organization: string, client: Client, error: unknown): AppError {
  const reason = errorOn(client, error);
  const text = `organization \`${organization}\` is not acted on here any more: ${lineOf(reason)}`;
  if (!(reason instanceof AppError)) return new AppError('store_failed', text, { cause: error });
  return new AppError(reason.code, text, { cause: reason, detail: reason.detail });
}

// Until when a lease is certain, by the clocks of this machine alone.

interface Instant {
  monotonicMs: number;
  wallMs: number;
}

/**
 * The monotonic clock stands still while a machine is suspended, and the wall clock may be set: the earlier of both deadlines counts. A
 * wall clock that was set back ends it too, since it no longer shows a suspension.
 */
class LeaseDeadline {
  private last: Instant;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>,
    private readonly ms: number,
  ) {
    this.last = this.read();
  }

  /** Read before a question is sent, and given to `confirm` once it is answered. */
  read(): Instant {
    return { monotonicMs: this.clock.monotonicMs(), wallMs: this.clock.nowMs() };
  }

  confirm(at: Instant): void {
    if (at.monotonicMs > this.last.monotonicMs) this.last = at;
  }

  isPast(): boolean {
    const { monotonicMs, wallMs } = this.read();
    const passedMs = wallMs - this.last.wallMs;
    return monotonicMs - this.last.monotonicMs >= this.ms || passedMs >= this.ms || passedMs < -AGREED_MS;
  }
}

/** INVARIANT: the name of the log's file has the timeline that is written now; the control file has it only after the next checkpoint. */
const POSITION = `
SELECT system_identifier::text AS system, lsn::text, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::bigint::text AS timeline
FROM pg_control_system(), pg_current_wal_flush_lsn() AS lsn`;

/** Errors: those of the connection. */
async function readPosition(client: Pick<ClientBase, 'query'>): Promise<Omit<Position, 'fence' | 'commits'>> {
  const { rows } = await client.query<{ system: string; lsn: string; timeline: string }>(POSITION);
  const [row] = rows as [(typeof rows)[0]];
  return { system: row.system, lsn: row.lsn, timeline: Number(row.timeline) };
}

interface Held {
  client: Client;
  organization: string;
  fence: number;
  /** Of acting, until it was taken. */
  commits: number;
  leaseMs: number;
  clock: Clock;
  positions: Positions;
}

const BEATS_PER_LEASE = 3;
const WATCHES_PER_LEASE = 10;
/** Of the lease: how much earlier than the next actor this one ends, for clocks that do not run alike. */
const MARGIN = 0.1;

export class PostgresLease implements Lease, Transactions {
  readonly fence: number;
  behind: string | undefined;
  private readonly ended = new AbortController();
  private readonly stopping = new AbortController();
  private commits: number;
  private isReady = false;
  private isOver = false;
  /** Confirmed by commits alone: an old primary that lost its replica still answers, and no longer commits. */
  private readonly writes: LeaseDeadline;
  /** Confirmed by any answer: in a long transaction the session lives too. */
  private readonly answers: LeaseDeadline;
  private units: Promise<unknown> = Promise.resolve();

  constructor(private readonly held: Held) {
    const { clock, leaseMs, client } = held;
    this.fence = held.fence;
    this.commits = held.commits;
    this.writes = new LeaseDeadline(clock, leaseMs * (1 - MARGIN));
    this.answers = new LeaseDeadline(clock, leaseMs);
    client.on('error', (error) => this.lose(error));
    client.on('end', () => this.lose(new Error('Connection terminated')));
    void this.repeat(leaseMs / BEATS_PER_LEASE, () => this.beat());
    void this.repeat(leaseMs / WATCHES_PER_LEASE, () => this.watch());
  }

  get lost(): AbortSignal {
    return this.ended.signal;
  }

  /** From now on it may act. */
  begin(): void {
    this.isReady = true;
  }

  /** Ends without being released. */
  abandon(): void {
    this.isOver = true;
    this.stopping.abort();
  }

  mayWrite(): boolean {
    if (!this.isReady || this.isOver || this.lost.aborted) return false;
    if (!this.writes.isPast()) return true;
    this.lose(this.unconfirmed());
    return false;
  }

  /** One unit of work on the connection, after those before it. Errors: its own; the reason of the loss once the lease is lost. */
  run<T>(work: (client: Connected) => Promise<T>): Promise<T> {
    const unit = this.units.then(async () => {
      this.refuse();
      try {
        return await work({ query: this.query } as Connected);
      } catch (error) {
        throw this.lost.aborted ? this.lost.reason : errorOn(this.held.client, error);
      }
    });
    this.units = unit.catch(() => {});
    return unit;
  }

  /**
   * A commit of acting: all of it or nothing, and nothing when somebody else acts by now. `isSent`: something is sent after it, so
   * where the database was is recorded outside before this returns.
   */
  transaction<T>(work: (client: Connected) => Promise<T>, { isSent = false } = {}): Promise<T> {
    return this.run(async (client) => {
      await client.query('BEGIN');
      try {
        const commits = await this.assertFence(client);
        const result = await work(client);
        const at = this.writes.read();
        const { command } = await client.query('COMMIT');
        // After an error that the work swallowed, PostgreSQL answers a COMMIT by undoing everything.
        if (command !== 'COMMIT')
          throw new AppError('store_failed', 'the transaction was not committed: it had failed');
        this.commits = commits;
        // Only a durable commit confirms: others may be answered before the standby has them.
        if (isSent) {
          this.writes.confirm(at);
          await this.writePosition(client);
        }
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((broken) => this.lose(broken));
        throw error;
      }
    });
  }

  /**
   * Records outside where the database is now: before something is sent, and for an organization that began stopped once its stop is
   * committed.
   */
  recordPosition(): Promise<void> {
    return this.run((client) => this.writePosition(client));
  }

  async release(): Promise<void> {
    const { client, clock, leaseMs, organization } = this.held;
    const released = this.run(async ({ query }) => {
      this.isOver = true;
      await query(RELEASE, [organization, this.fence]);
      await client.end();
    });
    await withinMs(clock, leaseMs, client, released).catch(() => destroy(client));
    this.isOver = true;
    this.stopping.abort();
  }

  private readonly query = (async (statement: string, values?: unknown[]) => {
    const at = this.answers.read();
    const answer = await this.held.client.query(statement, values);
    this.answers.confirm(at);
    return answer;
  }) as Client['query'];

  private async assertFence(client: Connected): Promise<number> {
    const { organization } = this.held;
    const { rows } = await client.query<{ commits: string }>(ASSERT_FENCE, [organization, this.fence]);
    const [row] = rows;
    if (!row) throw this.lose(this.fenced());
    return Number(row.commits);
  }

  private async writePosition(client: Connected): Promise<void> {
    const { fence, commits } = this;
    const { organization, positions } = this.held;
    positions.write(organization, { ...(await readPosition(client)), fence, commits });
  }

  private async beat(): Promise<void> {
    await this.run(async ({ query }) => {
      const at = this.writes.read();
      const { rows } = await query(BEAT, [this.held.organization, this.fence]);
      if (rows.length === 0) throw this.lose(this.fenced());
      this.writes.confirm(at);
    });
  }

  private async watch(): Promise<void> {
    if (this.answers.isPast()) throw this.unconfirmed();
  }

  /** Until the end of the lease, which the first failure is. */
  private async repeat(ms: number, work: () => Promise<void>): Promise<void> {
    const signal = AbortSignal.any([this.lost, this.stopping.signal]);
    try {
      for (;;) {
        await this.held.clock.sleep(ms, signal);
        await work();
      }
    } catch (error) {
      if (!signal.aborted && !this.isOver) this.lose(error);
    }
  }

  private refuse(): void {
    if (this.lost.aborted) throw this.lost.reason;
    if (this.isOver) throw new AppError('stopped', `organization \`${this.held.organization}\` is no longer acted on`);
  }

  /** The first reason stays. Returns it. */
  private lose(error: unknown): unknown {
    if (this.isOver) return error;
    if (!this.lost.aborted) {
      const { client, organization } = this.held;
      this.ended.abort(error instanceof AppError ? error : leaseFault(organization, client, error));
      destroy(client);
    }
    return this.lost.reason;
  }

  private fenced(): AppError {
    const text = `organization \`${this.held.organization}\` is acted on by another worker now: nothing more is sent or committed by this one`;
    return new AppError('store_locked', text);
  }

  private unconfirmed(): AppError {
    const { organization, leaseMs } = this.held;
    const text = `PostgreSQL did not confirm for ${leaseMs / 1_000} s that organization \`${organization}\` is acted on here: nothing more is sent`;
    return new AppError('store_failed', text);
  }
}

// Takes the lease of an organization: the lock, the end of a holder that is silent, and the wait until what a former
// holder sent can no longer be on its way.

interface LeaseSettings {
  /**
   * A new connection of the organization, which is not shared and goes through no pooler of transactions. INVARIANT: its commits are
   * durable (`synchronous_commit` is not off).
   */
  open: (organization: string) => Promise<Client>;
  clock: Clock;
  /** For people: which worker it is. */
  holder: string;
  positions: Positions;
  leaseMs?: number;
}

interface Taken {
  fence: number;
  commits: number;
  waitMs: number;
}

/** How often a lock that is not free is asked for, in a lease. */
const ASKS_PER_LEASE = 20;

export class PostgresLeases implements Leases {
  private readonly leaseMs: number;
  private readonly listeners: ((change: LeaseChange) => void)[] = [];

  constructor(private readonly settings: LeaseSettings) {
    this.leaseMs = settings.leaseMs ?? LEASE_MS;
  }

  /** Hears of all leases of this process. */
  watch(listener: (change: LeaseChange) => void): void {
    this.listeners.push(listener);
  }

  async take(organization: string, options: TakeOptions): Promise<PostgresLease> {
    const { clock, open } = this.settings;
    const client = await open(organization);
    // Without a listener, an end of the connection would end the process.
    client.on('error', () => {});
    let lease: PostgresLease | undefined;
    try {
      const taken = await this.lock(client, organization, options);
      const lockedMs = clock.monotonicMs();
      lease = new PostgresLease({ ...this.settings, leaseMs: this.leaseMs, client, organization, ...taken });
      await this.waitOut(lease, lockedMs, taken.waitMs > 0 ? taken.waitMs + options.quietMs : 0, options.signal);
      await this.compare(lease, organization, taken);
      lease.begin();
      lease.lost.addEventListener('abort', () => this.note('lost'), { once: true });
      this.note('taken');
      return lease;
    } catch (error) {
      if (error instanceof AppError && error.code === 'store_locked') this.note('refused');
      // It is not released: what a former holder sent may still be on its way, and the next one waits as well.
      lease?.abandon();
      destroy(client);
      throw errorOn(client, error);
    }
  }

  private note(change: LeaseChange): void {
    for (const listener of this.listeners) listener(change);
  }

  private async lock(client: Client, organization: string, { waitMs, signal }: TakeOptions): Promise<Taken> {
    const { clock, holder } = this.settings;
    const key = lockKeyOf(organization);
    const role = await this.becomeLogin(client);
    let untilMs = clock.monotonicMs() + waitMs;
    let isEnding = false;
    for (;;) {
      const { rows } = await this.ask(client, TAKE, [organization, key, holder, this.leaseMs]);
      const [taken] = rows;
      if (taken) {
        await this.ask(client, `SET ROLE ${role}`, []);
        return numbersOf(taken);
      }
      const found = await this.ask(client, END_STALE, [organization, key]);
      if (!isEnding && found.rows[0]?.is_ended) {
        isEnding = true;
        untilMs = Math.max(untilMs, clock.monotonicMs() + this.leaseMs);
      }
      if (clock.monotonicMs() >= untilMs) throw heldBy(organization, found.rows[0]);
      await clock.sleep(this.leaseMs / ASKS_PER_LEASE, signal);
    }
  }

  /** Sessions of another role show neither when they began nor whether they work, and are not ours to end. Returns the role that it had. */
  private async becomeLogin(client: Client): Promise<string> {
    const { rows } = await this.ask(client, 'SELECT quote_ident(current_user) AS role', []);
    await this.ask(client, 'SET ROLE NONE', []);
    return String(rows[0]?.role);
  }

  /** INVARIANT: measured by this machine's monotonic clock, from when the lock was got: before, a former holder may have been confirmed. */
  private async waitOut(lease: PostgresLease, lockedMs: number, ms: number, signal: AbortSignal | undefined) {
    const { clock } = this.settings;
    const signals = signal ? [signal, lease.lost] : [lease.lost];
    const leftMs = () => lockedMs + ms - clock.monotonicMs();
    while (leftMs() > 0)
      await clock.sleep(leftMs(), AbortSignal.any(signals)).catch((error) => {
        throw lease.lost.aborted ? lease.lost.reason : error;
      });
  }

  private async compare(lease: PostgresLease, organization: string, { fence, commits }: Taken): Promise<void> {
    const recorded = this.settings.positions.read(organization);
    const position: Position = { ...(await lease.run(readPosition)), fence, commits };
    // The row of a former taking may be among what is missing: this one would otherwise hide it.
    lease.behind = whatIsMissing(recorded, { ...position, fence: fence - 1 });
  }

  /** A connection that hangs is not waited for. */
  private ask(client: Client, statement: string, values: unknown[]): Promise<{ rows: Row[] }> {
    return withinMs(this.settings.clock, this.leaseMs, client, client.query<Row>(statement, values));
  }
}

type Row = Record<string, string | number | boolean | null>;

function numbersOf({ fence, commits, wait_ms }: Row): Taken {
  return { fence: Number(fence), commits: Number(commits), waitMs: Number(wait_ms) };
}

function heldBy(organization: string, row: Row | undefined): AppError {
  const isRecorded = row !== undefined && row.pid !== null && row.pid === row.lock_pid;
  const who = isRecorded
    ? `\`${row.holder}\` acts for it (fence ${row.fence}, last sign of life ${Math.round(Number(row.silent_ms) / 1_000)} s ago)`
    : `session ${row?.lock_pid ?? 'unknown'} of PostgreSQL holds its lock: wait until it ends, or end it with pg_terminate_backend`;
  return new AppError('store_locked', `organization \`${organization}\` cannot be acted on now: ${who}`);
}

// The time of PostgreSQL, which is one for all processes, on whichever machines. In: answers of the server, and a clock
// of this machine that counts and is never set. Out: a clock that shows the time of the server. INVARIANT: the wall
// clock of this machine is never read.

const NOW = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms';

export class ServerClock implements Clock {
  private since: Watched & { apartMs: number };

  private constructor(
    private readonly own: Clock,
    private readonly ask: () => Promise<number>,
    private apartMs: number,
  ) {
    this.since = { ...this.fromNow(), jumpedMs: Number.NEGATIVE_INFINITY };
  }

  /** Errors: AppError `store_failed`. */
  static of(pool: Pick<PostgresPool, 'query'>, own: Clock): Promise<ServerClock> {
    return ServerClock.measured(own, async () => (await pool.query<{ ms: number }>(NOW))[0]?.ms ?? Number.NaN);
  }

  /** @param ask the time of the server, epoch ms. Errors: those of asking. */
  static async measured(own: Clock, ask: () => Promise<number>): Promise<ServerClock> {
    // The first answer may have waited for a connection.
    await ask();
    const [least, most] = await bounds(own, ask);
    return new ServerClock(own, ask, (least + most) / 2);
  }

  nowMs(): number {
    return Math.floor(this.own.monotonicMs() + this.apartMs);
  }

  monotonicMs(): number {
    return this.own.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.own.sleep(ms, signal);
  }

  /** Since when this process has seen the server's clock agree with its own. */
  watched(): Watched {
    const { sinceMs, fromMs, jumpedMs } = this.since;
    return { sinceMs, fromMs, jumpedMs };
  }

  /** An answer that took long says little, and changes as little. Errors: those of asking. */
  async measure(): Promise<void> {
    const [least, most] = await bounds(this.own, this.ask);
    this.apartMs = Math.min(Math.max(this.apartMs, least), most);
    if (Math.abs(this.apartMs - this.since.apartMs) > AGREED_MS)
      this.since = { ...this.fromNow(), jumpedMs: this.nowMs() };
  }

  private fromNow() {
    return { apartMs: this.apartMs, sinceMs: this.nowMs(), fromMs: this.own.monotonicMs() };
  }
}

/** How far the server's clock is ahead of ours, at least and at most: it was read somewhere between question and answer. */
async function bounds(own: Clock, ask: () => Promise<number>): Promise<[least: number, most: number]> {
  const before = own.monotonicMs();
  const atMs = await ask();
  return [atMs - own.monotonicMs(), atMs - before];
}

// What other processes tell on a channel of PostgreSQL.

const RETRY_MS = 1_000;
const ANYWAY_MS = 15_000;
const ANSWERED_MS = 5_000;

interface Parts {
  pool: Pick<PostgresPool, 'connect'>;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/** See `Listen`. That it cannot listen is logged once. */
export function listening(parts: Parts, channel: string, hearing: Hearing): Listening {
  const closing = new AbortController();
  const ended = untilClosed(parts, channel, hearing, closing.signal);
  return {
    close: () => {
      closing.abort();
      return ended;
    },
  };
}

async function untilClosed(parts: Parts, channel: string, hearing: Hearing, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let isReported = false;
  while (!signal.aborted) {
    try {
      await untilBroken(parts, channel, hearing, signal);
      isReported = false;
    } catch (error) {
      if (!isReported && !signal.aborted) log.warn({}, `what other processes do is noticed late: ${lineOf(error)}`);
      isReported = true;
    }
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}

async function untilBroken({ pool, clock }: Parts, channel: string, hearing: Hearing, signal: AbortSignal) {
  const broken = new AbortController();
  const client = await pool.connect(async (made) => {
    made.on('notification', ({ payload = '' }) => hearing.heard(payload));
    made.on('end', () => broken.abort());
    await made.query(`LISTEN "${channel}"`);
  });
  const over = AbortSignal.any([signal, broken.signal]);
  try {
    hearing.missed();
    while (!over.aborted) {
      await clock.sleep(ANYWAY_MS, over).catch(() => {});
      if (over.aborted) break;
      // A connection that a network lost without a word answers nothing.
      await client.query({ text: 'SELECT 1', query_timeout: ANSWERED_MS } as QueryConfig);
      hearing.missed();
    }
  } finally {
    await client.end().catch(() => {});
  }
}

export function alone<T>(pool: PostgresPool, organization: string, work: () => Promise<T>): Promise<T> {
  return pool.transaction(`BEGIN; SELECT pg_advisory_xact_lock(${advisoryKey(`beside ${organization}`)})`, work);
}
