// act: the one door to the outside: preflight's question, the taking of a place and the commit of `sent`, for one intent after the other.
// In: intents whose targets were just read. Out: each is sent, refused, or to be read again. INVARIANT: nothing comes between the question
// and the commit: who asks after another one sees the place that it took, and a stop counts for whoever was not sent before it.
import type { Refused } from '../domain/check.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Place } from './counts.ts';

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

export type Entry =
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
