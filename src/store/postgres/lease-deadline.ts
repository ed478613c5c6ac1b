// store: until when a lease is certain, by the clocks of this machine alone. In: when a question left that the database has answered. Out:
// whether so much time has passed since that somebody else may act.
import type { Clock } from '../../domain/ports.ts';
import { AGREED_MS } from '../../domain/steady-time.ts';

export interface Instant {
  monotonicMs: number;
  wallMs: number;
}

/**
 * The monotonic clock stands still while a machine is suspended, and the wall clock may be set: the earlier of both deadlines counts. A
 * wall clock that was set back ends it too, since it no longer shows a suspension.
 */
export class LeaseDeadline {
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
