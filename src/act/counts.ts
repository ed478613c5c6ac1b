// act: what a run has taken of its ceilings, and how many of its attempts failed. In: an action that is about to be sent, and what
// comes of it. Out: the counts that preflight asks about. INVARIANT: a place is taken before the call, in the same turn in which
// preflight found it free, so that no two calls take the same one.
import type { ActionName } from '../domain/action.ts';
import type { RunStore } from '../domain/run-store.ts';

/** One attempt's place in the ceilings, and among the failures that a run may have. */
export interface Place {
  /** `sent` is committed: the store counts the attempt from now on. */
  sent(): void;
  /** A doubtful answer is a failure too. */
  answered(isDone: boolean): void;
  /** Its outcome is committed, or it was not sent. `isGivenBack`: it was no attempt, so others may have its place. */
  end(isGivenBack: boolean): void;
}

export class RunCounts {
  /** Failed and doubtful ones. */
  failures = 0;
  /** Attempts without an answer yet. */
  unanswered = 0;
  private readonly attempts: Map<ActionName, number>;
  /** Places that may still be given back, and those of them that the store does not count yet. */
  private readonly open = new Map<ActionName, number>();
  private readonly unsent = new Map<ActionName, number>();

  /** `run`: the run that is counted; undefined for a release, which has its own count. */
  constructor(
    readonly run: string | undefined,
    attempts: Iterable<readonly [ActionName, number]> = [],
  ) {
    this.attempts = new Map(attempts);
  }

  /** Attempts of this run, with those that are about to be sent. */
  attemptsOf(action: ActionName): number {
    return this.attempts.get(action) ?? 0;
  }

  /** Those of them that the store does not count yet. */
  unsentOf(action: ActionName): number {
    return this.unsent.get(action) ?? 0;
  }

  /** Whether an attempt under way may give its place back. */
  mayGiveBack(action: ActionName): boolean {
    return (this.open.get(action) ?? 0) > 0;
  }

  /**
   * How many failures there may be once every attempt under way is answered. A run that may have so many failures begins no call until it
   * knows more: it never makes more calls without a success than it may, however many go at once.
   */
  failuresAtMost(max: number): number {
    return this.failures >= max ? this.failures : this.failures + this.unanswered;
  }

  take(action: ActionName): Place {
    add(this.attempts, action, 1);
    add(this.open, action, 1);
    add(this.unsent, action, 1);
    this.unanswered += 1;
    let isUnsent = true;
    let isUnanswered = true;
    const sent = () => {
      if (isUnsent) add(this.unsent, action, -1);
      isUnsent = false;
    };
    const heard = () => {
      if (isUnanswered) this.unanswered -= 1;
      isUnanswered = false;
    };
    return {
      sent,
      answered: (isDone) => {
        heard();
        if (!isDone) this.failures += 1;
      },
      end: (isGivenBack) => {
        sent();
        heard();
        add(this.open, action, -1);
        if (isGivenBack) add(this.attempts, action, -1);
      },
    };
  }
}

function add(counts: Map<ActionName, number>, action: ActionName, more: number): void {
  counts.set(action, (counts.get(action) ?? 0) + more);
}

/** Everything that acts for a run continues its count. This includes each time that its plan is applied, however late. */
export async function countsOfRun(store: Pick<RunStore, 'attemptsOfRun'>, run: string): Promise<RunCounts> {
  return new RunCounts(run, await store.attemptsOfRun(run));
}
