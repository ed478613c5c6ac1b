// history: the events that some window may still count, for a rule set that comes into force later. In: events, what each run knew of the log. Out:
// events. The store of the daemon keeps as many.
import type { TrustEvent } from '../../domain/event.ts';
import type { Coverage } from '../../domain/snapshot.ts';

/** Events that are a little older than what the log was read for belong to the first moments of a window. */
const BEFORE_MS = 3_600_000;

export class RecentEvents {
  private events: TrustEvent[] = [];
  private sweptFromMs = Number.NEGATIVE_INFINITY;

  get all(): readonly TrustEvent[] {
    return this.events;
  }

  add(events: readonly TrustEvent[]): void {
    for (const event of events) this.events.push(event);
  }

  /** Without any window nothing is covered, and nothing is kept. */
  forget(coverage: readonly Coverage[]): void {
    if (coverage.length === 0) return;
    const fromMs = Math.min(...coverage.map((one) => one.fromMs)) - BEFORE_MS;
    if (fromMs - this.sweptFromMs < BEFORE_MS) return;
    this.sweptFromMs = fromMs;
    // The store never removes its newest row, so that it is not recorded again when a longer window has the log read once more.
    const newest = this.events.at(-1);
    this.events = this.events.filter((event) => event === newest || event.createdAtMs >= fromMs);
  }
}
