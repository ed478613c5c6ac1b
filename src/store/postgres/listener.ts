// store: what other processes append to the audits of organizations, as one connection of this process hears it. In: a pool. Out: calls for
// each organization. A connection that breaks is made anew; meanwhile, and now and then, everybody is called, since a notice may be missed.
import type { Client } from 'pg';
import { lineOf } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { CHANNEL } from './notices.ts';
import type { PostgresPool } from './pool.ts';

/** `kinds`: the first words of the kinds of what was appended; undefined: not known. */
export type Heard = (kinds: ReadonlySet<string> | undefined) => void;

const RETRY_MS = 2_000;
const ANYWAY_MS = 15_000;

export class AuditListener {
  private readonly listeners = new Map<string, Set<Heard>>();

  constructor(
    private readonly pool: Pick<PostgresPool, 'connect'>,
    private readonly clock: Pick<Clock, 'sleep'>,
    private readonly log: Log,
  ) {}

  /** Returns what ends it. */
  on(organization: string, listener: Heard): () => void {
    const all = this.listeners.get(organization) ?? new Set();
    this.listeners.set(organization, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.listeners.get(organization) === all) this.listeners.delete(organization);
    };
  }

  /** Never rejects. */
  async untilEnding(signal: AbortSignal): Promise<void> {
    let isReported = false;
    while (!signal.aborted) {
      try {
        await this.listen(signal);
        isReported = false;
      } catch (error) {
        if (!isReported && !signal.aborted)
          this.log.warn({}, `what other processes record is noticed late: ${lineOf(error)}`);
        isReported = true;
      }
      await this.clock.sleep(RETRY_MS, signal).catch(() => {});
      this.callAll();
    }
  }

  /** Until the connection breaks. */
  private async listen(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const client: Client = await this.pool.connect(async (made) => {
      made.on('notification', ({ payload = '' }) => this.heard(payload));
      made.on('end', () => over.abort());
      await made.query(`LISTEN ${CHANNEL}`);
    });
    const ended = AbortSignal.any([signal, over.signal]);
    this.callAll();
    try {
      while (!ended.aborted) {
        await this.clock.sleep(ANYWAY_MS, ended).catch(() => {});
        if (ended.aborted) break;
        // A connection that a network lost without a word answers nothing.
        await client.query('SELECT 1');
        this.callAll();
      }
    } finally {
      await client.end().catch(() => {});
    }
  }

  private heard(payload: string): void {
    const [organization = '', ...kinds] = payload.split(' ');
    const words = new Set(kinds);
    for (const listener of [...(this.listeners.get(organization) ?? [])]) listener(words);
  }

  private callAll(): void {
    for (const all of [...this.listeners.values()]) for (const listener of [...all]) listener(undefined);
  }
}
