// store: requests with an Idempotency-Key that this process answers now, as all processes on the database know of them. In: the id of a request, of
// an organization. Out: the right to answer it, until it is given back. It ends with the process, or with the one connection that has it.
import type { Client } from 'pg';
import { advisoryKey } from './advisory-key.ts';

const TAKE = 'SELECT pg_try_advisory_lock($1) AS "isTaken"';

/** The part of a pool that it needs. */
interface Connecting {
  connect(begin: (client: Client) => Promise<void>): Promise<Client>;
  faultOf(error: unknown): unknown;
}

export class HeldKeys {
  private client: Promise<Client> | undefined;
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

  private connected(): Promise<Client> {
    this.client ??= this.open();
    return this.client;
  }

  private async open(): Promise<Client> {
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
