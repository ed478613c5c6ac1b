// harness: simulated time. True time only moves when something waits or answers; the engine's wall clock is true time plus
// an offset that jumps. What is due happens on the way, in order, so that the world changes between two awaits.
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../src/domain/errors.ts';
import type { Clock } from '../../src/domain/ports.ts';

export const START_MS = 1_800_000_000_000;
/** Of the event loop, after which nothing goes on by itself: a door, a commit and what follows them. */
const TURNS = 4;

interface Due {
  atMs: number;
  order: number;
  happen: () => void;
}

export class SimClock implements Clock {
  trueMs = START_MS;
  /** How far the engine's wall clock is from true time. */
  offsetMs = 0;
  /** The furthest that it has ever been. */
  offsetMaxMs = 0;
  /** True times at which it jumped, or the machine started anew. */
  readonly jumps: number[] = [];
  /** True times at which the machine started anew. */
  readonly boots: number[] = [];
  /** Which start of the machine it is; empty on a system that does not report it. */
  boot = 'the first boot';
  /** True time of the machine's start. */
  private bootedMs = START_MS - 60_000;
  /** Several calls are under way at once: each wait takes its own time, and none makes the others late. */
  isShared = false;
  private due: Due[] = [];
  private waiting = 0;
  private scheduled = 0;

  nowMs(): number {
    return this.trueMs + this.offsetMs;
  }

  monotonicMs(): number {
    return this.trueMs - this.bootedMs;
  }

  /** The machine starts anew; its other clock counts from there. */
  reboot(): void {
    this.boot = this.boot && `boot at ${this.trueMs}`;
    this.bootedMs = this.trueMs;
    this.jumps.push(this.trueMs);
    this.boots.push(this.trueMs);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw new AppError('stopped', 'stopped while waiting');
    await this.take(ms);
  }

  /** Waits: true time moves on to the next thing that is due when nothing else can go on. */
  take(ms: number): Promise<void> | undefined {
    if (!this.isShared) {
      this.pass(ms);
      return undefined;
    }
    return new Promise((over) => {
      this.waiting += 1;
      this.after(ms, () => {
        this.waiting -= 1;
        over();
      });
      if (this.waiting === 1) void this.goOn();
    });
  }

  private async goOn(): Promise<void> {
    while (this.waiting > 0) {
      for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
      const next = this.due[0];
      if (this.waiting > 0 && next) this.pass(Math.max(0, next.atMs - this.trueMs));
    }
  }

  /** Lets true time pass; what is due on the way happens at its own moment. */
  pass(ms: number): void {
    const end = this.trueMs + ms;
    for (;;) {
      const next = this.due[0];
      if (next === undefined || next.atMs > end) break;
      this.due.shift();
      this.trueMs = Math.max(this.trueMs, next.atMs);
      next.happen();
    }
    this.trueMs = end;
  }

  /** Sets the engine's wall clock so far from true time. */
  jump(offsetMs: number): void {
    if (offsetMs !== this.offsetMs) this.jumps.push(this.trueMs);
    this.offsetMs = offsetMs;
    this.offsetMaxMs = Math.max(this.offsetMaxMs, Math.abs(offsetMs));
  }

  after(ms: number, happen: () => void): void {
    this.scheduled += 1;
    this.due.push({ atMs: this.trueMs + ms, order: this.scheduled, happen });
    this.due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  }
}
