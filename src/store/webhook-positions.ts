// store: how far each webhook has got in the audit. In: a connection and the store's unit of work. Out: a number for each name. Nothing
// that acts rests on it, so a change needs no audit entry.
import type { FeedPositions } from '../domain/notification.ts';
import type { Clock } from '../domain/ports.ts';
import type { Unit } from './outbox.ts';
import type { Db } from './queries.ts';

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

  async savePosition(webhook: string, seq: number): Promise<void> {
    const row = { webhook, seq, saved_at: this.clock.nowMs() };
    await this.unit.run(() => this.db.upsert('webhook_positions', row, 'webhook'));
  }
}
