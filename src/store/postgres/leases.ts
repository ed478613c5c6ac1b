// store: takes the lease of an organization: the lock, the end of a holder that is silent, and the wait until what a former holder sent can
// no longer be on its way. In: a connection of its own. Out: a lease, or one line on who has it.
import type { Client } from 'pg';
import { AppError } from '../../domain/errors.ts';
import { LEASE_MS, type LeaseChange, type Leases, type TakeOptions } from '../../domain/lease.ts';
import { type Position, type Positions, whatIsMissing } from '../../domain/lease-position.ts';
import type { Clock } from '../../domain/ports.ts';
import { PostgresLease } from './lease.ts';
import { destroy, errorOn, withinMs } from './lease-connection.ts';
import { readPosition } from './lease-position.ts';
import { END_STALE, lockKeyOf, TAKE } from './lease-statements.ts';

export interface LeaseSettings {
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
