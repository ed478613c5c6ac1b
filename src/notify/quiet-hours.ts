// notify: quiet hours: alerts that would go out wait, and go out at the end if their condition still lasts. In: the configured windows, the clock.
// Out: whether an alert waits now; a sleep until the end. What cannot wait is never held.
import { type ChangeWindow, windowAt } from '../domain/change-window.ts';
import type { Alert, AlertCode } from '../domain/notification.ts';
import type { Clock } from '../domain/ports.ts';

/** Told at any hour: the protection is off, or a person changed what it may do. */
const AT_ONCE: ReadonlySet<AlertCode> = new Set(['database', 'silence', 'stopped', 'resumed', 'break_glass']);

/** A clock may be set: it is asked again at least this often. */
const LOOK_EVERY_MS = 60_000;

export class QuietHours {
  constructor(
    private readonly windows: readonly ChangeWindow[],
    private readonly clock: Clock,
  ) {}

  /** Whether it waits at this moment. */
  holds({ code }: Pick<Alert, 'code'>): boolean {
    return !AT_ONCE.has(code) && this.endsAtMs() !== undefined;
  }

  /** An event of this long ago may still wait to be told: the most time that quiet hours can take between two free moments. */
  get longestMs(): number {
    return this.windows.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  }

  /** Calls `ended` at each end of quiet hours until `signal` aborts. Never throws. */
  async watch(ended: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    if (this.windows.length === 0) return;
    for (let was = this.endsAtMs(); !signal.aborted; ) {
      const leftMs = was === undefined ? LOOK_EVERY_MS : was - this.clock.nowMs();
      await this.clock.sleep(Math.min(Math.max(leftMs, 1), LOOK_EVERY_MS), signal).catch(() => {}); // being stopped
      if (signal.aborted) return;
      const now = this.endsAtMs();
      if (was !== undefined && now === undefined) await ended();
      was = now;
    }
  }

  private endsAtMs(): number | undefined {
    return windowAt(this.windows, this.clock.nowMs())?.endsAtMs;
  }
}
