// http: costly answers, a few at once. In: work. Out: its answer, in the order of asking; 429 when too many wait already.
import { Problem } from './problem.ts';

const RETRY_AFTER_S = 5;

export class Turns {
  private underWay = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param what names the work, in the plural. */
  constructor(private readonly bounds: { what: string; underWayMax: number; waitingMax: number }) {}

  /** Errors: those of the work; Problem 429 when too many wait. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.begin();
    try {
      return await work();
    } finally {
      // A place is passed on to the next, and only otherwise given back.
      const next = this.waiting.shift();
      if (next) next();
      else this.underWay -= 1;
    }
  }

  private async begin(): Promise<void> {
    const { what, underWayMax, waitingMax } = this.bounds;
    if (this.underWay < underWayMax) {
      this.underWay += 1;
      return;
    }
    if (this.waiting.length >= waitingMax) {
      const detail = `${underWayMax} ${what} are under way and ${waitingMax} wait: ask again in a few seconds`;
      const headers = { 'Retry-After': String(RETRY_AFTER_S) };
      throw new Problem(429, 'too-many-requests', 'Too many at once', detail, { headers });
    }
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
    });
  }
}
