// web: answers of the platform that a page does not wait long for. In: work, and how long to wait. Out: its answer, or undefined while it
// still takes: the work goes on, and who asks again for the same gets it. Only a few are under way at once.
import { Turns } from '../http/turns.ts';
import { type Waiting, within } from './within.ts';

const BOUNDS = { what: 'questions to the platform', underWayMax: 4, waitingMax: 8 };

export class InTime {
  private readonly turns = new Turns(BOUNDS);
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly waiting: Waiting) {}

  /** `key`: equal for equal work. Errors: those of the work; Problem 429 when too much is under way. */
  async of<T>(key: string, work: () => Promise<T>, waitMs: number): Promise<T | undefined> {
    return within(this.waiting, waitMs, (this.underWay.get(key) ?? this.begin(key, work)) as Promise<T>);
  }

  private begin<T>(key: string, work: () => Promise<T>): Promise<T> {
    const begun = this.turns.take(work).finally(() => this.underWay.delete(key));
    // It may fail when nobody waits any more.
    begun.catch(() => {});
    this.underWay.set(key, begun);
    return begun;
  }
}
