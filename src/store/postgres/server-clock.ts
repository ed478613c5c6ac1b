// store: the time of PostgreSQL, which is one for all processes, on whichever machines. In: answers of the server, and a clock of this machine
// that counts and is never set. Out: a clock that shows the time of the server. INVARIANT: the wall clock of this machine is never read.
import type { Clock } from '../../domain/ports.ts';
import { AGREED_MS, type Watched } from '../../domain/steady-time.ts';
import type { PostgresPool } from './pool.ts';

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
