// schedule: one run at a time. Requests are served in order; scheduled times that pass while one waits become that one.
import { AppError } from '../domain/errors.ts';

export class RunQueue {
  private tail: Promise<unknown> = Promise.resolve();
  private scheduledWaits = false;
  private stopped = false;
  private waiting = 0;

  constructor(private readonly waitingMax = 20) {}

  /**
   * Work that must not overlap a run: a run itself, or applying a plan. Errors: those of the work; AppError `conflict`
   * when too many wait, `stopped` when the process is ending.
   */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting >= this.waitingMax) {
      throw new AppError('conflict', `${this.waiting} runs are already waiting: try again later`);
    }
    this.waiting += 1;
    const turn = this.tail.then(() => {
      if (this.stopped) throw new AppError('stopped', 'the daemon is being stopped');
      return work();
    });
    this.tail = turn.then(
      () => this.left(),
      () => this.left(),
    );
    return turn;
  }

  /** A scheduled time has come. Does nothing while an earlier one still waits: missed runs become one. */
  async scheduled(work: () => Promise<unknown>): Promise<void> {
    if (this.scheduledWaits) return;
    this.scheduledWaits = true;
    let hasBegun = false;
    try {
      await this.inTurn(() => {
        hasBegun = true;
        this.scheduledWaits = false;
        return work();
      });
    } finally {
      // It was refused and never ran: the next scheduled time must not count it as waiting.
      if (!hasBegun) this.scheduledWaits = false;
    }
  }

  /** Nothing new begins; resolves when the work under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.tail;
  }

  private left(): void {
    this.waiting -= 1;
  }
}
