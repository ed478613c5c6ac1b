// Reads of a folder whose disk or network mount may not answer: each is waited for only so long, and one at a time is under way. In: a read. Out:
// what it found, or that it is late.
import type { Clock } from '../domain/ports.ts';

export class BoundedRead {
  /** A read that was not waited for any longer. No other one begins before it ends. */
  private overdue: Promise<unknown> | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'sleep'>,
    private readonly msMax: number,
  ) {}

  /** `late`: it did not end in time, or an earlier one has not ended yet. Errors: those of the read, and of `signal`. */
  async of<T extends object>(read: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T | 'late'> {
    if (this.overdue) return 'late';
    const over = new AbortController();
    const reading = read(over.signal);
    const waiting = this.clock.sleep(this.msMax, signal ? AbortSignal.any([over.signal, signal]) : over.signal);
    try {
      const found = await Promise.race([reading, waiting]);
      if (found) return found;
      this.leave(reading);
      return 'late';
    } finally {
      over.abort();
    }
  }

  private leave(reading: Promise<unknown>): void {
    const ended = () => {
      this.overdue = undefined;
    };
    this.overdue = reading.then(ended, ended);
  }
}
