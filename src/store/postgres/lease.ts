// store: a lease that was taken: the one connection that holds the lock, by which everything of acting is committed. In: units of work, one
// after the other. Out: their results while the lease is certain; after that an error for each, whatever they were.
import type { Client } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Lease } from '../../domain/lease.ts';
import type { Positions } from '../../domain/lease-position.ts';
import type { Clock } from '../../domain/ports.ts';
import { destroy, errorOn, leaseFault, withinMs } from './lease-connection.ts';
import { LeaseDeadline } from './lease-deadline.ts';
import { readPosition } from './lease-position.ts';
import { ASSERT_FENCE, BEAT, RELEASE } from './lease-statements.ts';
import type { Client as Connected, Transactions } from './pool.ts';

export interface Held {
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
