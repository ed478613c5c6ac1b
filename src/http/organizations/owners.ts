// http: which organization a bearer token belongs to. In: the hash of a token. Out: an id, or undefined. What was found is remembered for a
// short time, so that not every request of a client is a question to the store; what was not found is asked each time, alike for all.
import type { Clock } from '../../domain/ports.ts';

const KEPT_MS = 60_000;
const KEPT_MAX = 10_000;

export class Owners {
  private readonly kept = new Map<string, { id: string; atMs: number }>();

  constructor(
    private readonly ask: (tokenHash: string) => Promise<string | undefined>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** The organization itself asks its own tokens again, so one that was revoked meanwhile opens nothing. */
  async of(tokenHash: string): Promise<string | undefined> {
    const nowMs = this.clock.monotonicMs();
    const known = this.kept.get(tokenHash);
    if (known && nowMs - known.atMs < KEPT_MS) return known.id;
    this.kept.delete(tokenHash);
    const id = await this.ask(tokenHash);
    if (id === undefined) return undefined;
    this.kept.set(tokenHash, { id, atMs: nowMs });
    const [oldest] = this.kept.keys();
    if (this.kept.size > KEPT_MAX && oldest !== undefined) this.kept.delete(oldest);
    return id;
  }
}
