// store: how far each webhook has got in the audit, and which process delivers to it. In: a connection and the store's unit of work. Out: a number
// for each name. `saved_at` in the future is a claim: who delivers has it until then. Nothing that acts rests on it, so a change needs no audit entry.
import type { FeedClaim, FeedPositions } from '../domain/notification.ts';
import type { Clock } from '../domain/ports.ts';
import type { Unit } from './outbox.ts';
import type { Db } from './queries.ts';

const CLAIM = `UPDATE webhook_positions SET saved_at = ?
  WHERE webhook = ? AND seq = ? AND (saved_at <= ? OR saved_at > ?)`;
const SAVE = 'UPDATE webhook_positions SET seq = ?, saved_at = ? WHERE webhook = ? AND seq = ? AND saved_at = ?';

export class SqlFeedPositions implements FeedPositions {
  constructor(
    private readonly db: Db,
    private readonly unit: Pick<Unit, 'run'>,
    private readonly clock: Clock,
  ) {}

  async positionOf(webhook: string): Promise<number | undefined> {
    return (
      await this.db.reading(
        this.db.get<{ seq: number }>('SELECT seq FROM webhook_positions WHERE webhook = ?', webhook),
      )
    )?.seq;
  }

  async beginAt(webhook: string, seq: number): Promise<void> {
    const row = { webhook, seq, saved_at: this.clock.nowMs() };
    await this.unit.run(() => this.db.insert('webhook_positions', row, 'ON CONFLICT DO NOTHING'));
  }

  async claim(webhook: string, seq: number, ms: number): Promise<FeedClaim | undefined> {
    const nowMs = this.clock.nowMs();
    const until = nowMs + ms;
    // One that ends later than this one is of a clock that was set back, and counts no longer.
    const claimed = await this.unit.run(() => this.db.run(CLAIM, until, webhook, seq, nowMs, until));
    return claimed === 0 ? undefined : { webhook, seq, until };
  }

  async savePosition({ webhook, seq: was, until }: FeedClaim, seq: number): Promise<void> {
    await this.unit.run(() => this.db.run(SAVE, seq, this.clock.nowMs(), webhook, was, until));
  }
}
