// decide: what somebody took back and did again between two readings, so that no reading shows it. In: acts of others that the event log names, our
// own acts. Out: the two acts that made a state of ours somebody else's, or undefined. Pure.
// INVARIANT: it is asked only to end a claim. A forged event leaves the target as it is, and Trustward does less.
import type { ActionTraits } from '../domain/action.ts';
import type { Claim } from '../domain/claim.ts';
import { isDone } from '../domain/intent.ts';
import type { NamedAct } from '../domain/named-act.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { attemptOfKey } from '../domain/store.ts';
import type { DecideInput } from './input.ts';

export interface AwayAndBack {
  away: NamedAct;
  back: NamedAct;
}

/** The server sends its time in whole seconds, by which events are set against our own acts. */
const CLOCK_MARGIN_MS = 2_000;

type OwnActs = Pick<DecideInput, 'openState' | 'steady' | 'quietMs'>;

export class NamedActs {
  private readonly bySubject = new Map<string, NamedAct[]>();
  /** By the text of the target, whichever action it was: when we last touched it. */
  private ownActs: Map<string, number> | undefined;

  constructor(
    acts: readonly NamedAct[],
    private readonly own: OwnActs,
  ) {
    for (const act of acts) {
      const key = `${act.subject.kind} ${act.subject.id}`;
      this.bySubject.set(key, [...(this.bySubject.get(key) ?? []), act]);
    }
  }

  /**
   * The newest named act is the one that we did, so the log agrees with a reading that shows its state; before it, and after all that we did to the
   * target, somebody did the opposite.
   */
  awayAndBack({ subjectId, target, action }: Claim, kind: string, { inverse }: ActionTraits): AwayAndBack | undefined {
    const known = this.bySubject.get(`${kind} ${subjectId}`);
    if (!known || inverse === undefined || this.mayStillTakeEffect(target, inverse)) return undefined;
    const acts = known.filter((act) => this.isAfterOurs(act, target)).toSorted((a, b) => a.atMs - b.atMs);
    const back = acts.at(-1);
    const away = acts.findLast((act) => act.action === inverse);
    return back?.action === action && away ? { away, back } : undefined;
  }

  /** A quiet period after all that we did to this target. After a jump of the clock less time counts than went by. */
  isAfterOurs({ atMs }: NamedAct, target: string): boolean {
    const { steady, quietMs } = this.own;
    const lastMs = this.lastOwnActs().get(target);
    return lastMs === undefined || elapsedMs(steady, lastMs) - (steady.nowMs - atMs) >= quietMs + CLOCK_MARGIN_MS;
  }

  private lastOwnActs(): ReadonlyMap<string, number> {
    if (this.ownActs) return this.ownActs;
    const last = new Map<string, number>();
    const note = (target: string, atMs: number) => last.set(target, Math.max(atMs, last.get(target) ?? 0));
    const { lastAttempts, intents, claims } = this.own.openState;
    for (const [key, sentAt] of lastAttempts) note(attemptOfKey(key).target, sentAt);
    for (const { mode, target, sentAt, settledAt } of intents)
      if (mode !== 'dry-run') note(target, Math.max(sentAt ?? 0, settledAt ?? 0));
    const known = new Set(intents.map(({ id }) => id));
    for (const { intentId, target, openedAt } of claims) if (!known.has(intentId)) note(target, openedAt);
    this.ownActs = last;
    return last;
  }

  /** Our own opposite act, in doubt or given up in doubt, may have come late: it is not told from a person's. */
  private mayStillTakeEffect(target: string, inverse: string): boolean {
    return this.own.openState.intents.some(
      (intent) =>
        intent.target === target &&
        intent.action === inverse &&
        intent.mode !== 'dry-run' &&
        intent.status !== 'withdrawn' &&
        intent.outcome !== 'failed' &&
        !isDone(intent),
    );
  }
}
