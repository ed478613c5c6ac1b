// notify: the heartbeat: one GET to an address after each completed whole run, so that its absence alerts elsewhere. In: that a run
// completed. Out: nothing that anybody waits for: it delays no run and fails none. GET: every known receiver of heartbeats accepts it.
import { lineOf } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { type Destination, sendChecked } from './checked-request.ts';

export interface HeartbeatState {
  /** When the last one was accepted, epoch ms. */
  acceptedAt: number | undefined;
  /** Since when none is; undefined while all is well. */
  failingSince: number | undefined;
}

/** Between the attempts for one run. The next run sends its own. */
const PAUSES_MS = [5_000, 15_000];

export class Heartbeat {
  readonly state: HeartbeatState = { acceptedAt: undefined, failingSince: undefined };
  private latest = new AbortController();
  private underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: {
      destination: Destination;
      clock: Clock;
      log: Log;
      send?: typeof sendChecked;
    },
  ) {}

  /** A whole run has completed. Returns at once; a heartbeat that is still being tried gives way to this one. */
  beat(): void {
    this.latest.abort();
    this.latest = new AbortController();
    this.underWay = this.try(this.latest.signal);
  }

  /** Resolves when the last heartbeat has ended, or been cut. Never rejects. */
  async end(cut: AbortSignal): Promise<void> {
    const stop = () => this.latest.abort();
    if (cut.aborted) stop();
    cut.addEventListener('abort', stop, { once: true });
    await this.underWay;
    cut.removeEventListener('abort', stop);
  }

  private async try(signal: AbortSignal): Promise<void> {
    const { destination, clock, log, send = sendChecked } = this.parts;
    const { host } = destination.url;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const sent = { method: 'GET', headers: { 'User-Agent': 'trustward' } } as const;
      const { ok, note } = await send(destination, sent, signal).catch((error: unknown) => ({
        ok: false,
        note: lineOf(error),
      }));
      if (ok) return this.accepted();
      if (signal.aborted) return;
      this.state.failingSince ??= clock.nowMs();
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined) return log.warn({}, `the heartbeat to ${host} is not accepted: ${note}`);
      await clock.sleep(pauseMs, signal).catch(() => {}); // the next one, or the end
    }
  }

  private accepted(): void {
    const { destination, clock, log } = this.parts;
    if (this.state.failingSince !== undefined)
      log.info({}, `the heartbeat to ${destination.url.host} is accepted again`);
    this.state.acceptedAt = clock.nowMs();
    this.state.failingSince = undefined;
  }
}
