// act: the one door to the outside: preflight's question, the taking of a place and the commit of `sent`, for one intent after the other.
// In: intents whose targets were just read. Out: each is sent, refused, or to be read again. INVARIANT: nothing comes between the question
// and the commit: who asks after another one sees the place that it took, and a stop counts for whoever was not sent before it.

import { giveWay } from '../../base/turns.ts';
import type { ActionName } from '../../domain/action.ts';
import type { Refused } from '../../domain/check.ts';
import type { RunStore } from '../../domain/store-ports.ts';

// What a run has taken of its ceilings, and how many of its attempts failed. In: an action that is about to be sent,
// and what comes of it. Out: the counts that preflight asks about. INVARIANT: a place is taken before the call, in the
// same turn in which preflight found it free, so that no two calls take the same one.

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

export interface Visitor {
  /** Whom the call touches, also by what was just read. */
  touches: ReadonlySet<string>;
  /** Whether the read is too old to act on, after a wait for others. */
  isOld(): boolean;
  /** Asks the checks now. */
  ask(): Promise<Refused | undefined>;
  /** Whether what is under way may change that answer: then it is asked again afterwards. */
  mayChange(refused: Refused): boolean;
  take(): Place;
  /** Commits `sent`. */
  send(): Promise<void>;
}

type Entry =
  | { kind: 'sent'; place: Place }
  | { kind: 'refused'; refused: Refused }
  | { kind: 'read_again' }
  /** The run has ended meanwhile: the intent is left as it is. */
  | { kind: 'closed' };

interface Waiting extends Visitor {
  wasHeld: boolean;
  enter(entry: Entry): void;
  fail(error: unknown): void;
}

export class Door {
  private waiting: Waiting[] = [];
  /** Those that wait until something under way is over. */
  private held: Waiting[] = [];
  private readonly touched = new Set<string>();
  private isServing = false;
  private isIntact = false;
  private isClosed = false;

  /** `demandIntact` is asked before the first call. */
  constructor(private readonly demandIntact: () => Promise<void>) {}

  /** Errors: those of asking and of the commit. Whoever is sent leaves again. */
  enter(visitor: Visitor): Promise<Entry> {
    return new Promise((enter, fail) => {
      this.waiting.push({ ...visitor, wasHeld: false, enter, fail });
      this.serve();
    });
  }

  /** Something under way is answered: others may go on. */
  changed(): void {
    this.waiting.push(...this.held.splice(0));
    this.serve();
  }

  leave({ touches }: Pick<Visitor, 'touches'>): void {
    for (const name of touches) this.touched.delete(name);
    this.changed();
  }

  /** Nothing is sent any more. */
  close(): void {
    this.isClosed = true;
    this.changed();
  }

  private serve(): void {
    if (this.isServing || this.waiting.length === 0) return;
    this.isServing = true;
    void this.serveAll();
  }

  private async serveAll(): Promise<void> {
    await giveWay(); // what has been read by then is sent in one commit
    while (this.waiting.length > 0) await this.admit(this.waiting.splice(0));
    this.isServing = false;
  }

  private async admit(group: readonly Waiting[]): Promise<void> {
    const sending: (() => Promise<void>)[] = [];
    for (const one of group) {
      try {
        const answer = await this.answerTo(one);
        if (answer === 'held') this.held.push({ ...one, wasHeld: true });
        else if (answer !== 'sent') one.enter(answer);
        else sending.push(this.taken(one));
      } catch (error) {
        one.fail(error);
      }
    }
    await Promise.all(sending.map((send) => send()));
  }

  private async answerTo(one: Waiting): Promise<Entry | 'held' | 'sent'> {
    if (this.isClosed) return { kind: 'closed' };
    if (one.wasHeld && one.isOld()) return { kind: 'read_again' };
    if ([...one.touches].some((name) => this.touched.has(name))) return 'held';
    let refused = await one.ask();
    if (!refused && !this.isIntact) {
      await this.demandIntact();
      this.isIntact = true;
      refused = await one.ask();
    }
    if (this.isClosed) return { kind: 'closed' };
    if (!refused) return 'sent';
    return one.mayChange(refused) ? 'held' : { kind: 'refused', refused };
  }

  private taken(one: Waiting): () => Promise<void> {
    const place = one.take();
    for (const name of one.touches) this.touched.add(name);
    return async () => {
      try {
        await one.send();
        place.sent();
        one.enter({ kind: 'sent', place });
      } catch (error) {
        place.end(true);
        this.leave(one);
        one.fail(error);
      }
    };
  }
}
