// harness: the platform's event log: what changed, each event soon, late, twice or never; with events that name strangers, and forged ones.
// In: changes of the world, dice. Out: the log as it can be read at a moment, ascending. Nothing here knows the engine.
import type { Dice } from './dice.ts';
import type { LooksProfile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';

/** Whom an event names. */
export interface Named {
  device?: { id?: string; serial?: string };
  email?: string;
  service?: string;
}

export interface WorldEvent extends Named {
  id: string;
  /** True time at which it was made, and from which on it can be read. */
  atMs: number;
  seenMs: number;
  isError: boolean;
  isTwice: boolean;
}

/** `beyond`: later than the overlap of two reads. */
const LATE_MS = { late: [1_000, 20_000], beyond: [320_000, 400_000] } as const;

export class EventLog {
  readonly all: WorldEvent[] = [];

  constructor(
    private readonly clock: SimClock,
    private readonly looks: LooksProfile | undefined,
    private readonly dice: Dice,
  ) {}

  /** An error of a service. */
  fail(service: string): void {
    this.add({ service }, true);
  }

  /** Something changed there, or somebody did something. */
  tell(named: Named): void {
    if (this.looks) this.add(named, false);
  }

  /** As it can be read at a moment, in the order in which the events were made. */
  until(seenMs: number): WorldEvent[] {
    const seen = this.all.filter((event) => event.seenMs <= seenMs);
    const shown = seen.flatMap((event) => (event.isTwice ? [event, event] : [event]));
    return this.looks ? shown.sort((a, b) => a.atMs - b.atMs) : shown;
  }

  private add(named: Named, isError: boolean): void {
    const { trueMs: atMs } = this.clock;
    const fate = this.looks ? this.dice.weighted(this.looks.events) : 'soon';
    if (fate === 'never' && !isError) return;
    const [from, to] = fate === 'late' || fate === 'beyond' ? LATE_MS[fate] : [0, 0];
    const seenMs = atMs + (to > 0 ? this.dice.whole(from, to) : 0);
    this.all.push({ ...named, id: `e${this.all.length}`, atMs, seenMs, isError, isTwice: fate === 'twice' });
  }
}
