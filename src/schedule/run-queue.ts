// schedule: one piece of work at a time: a run, or what must not overlap one. In: work, its lane and who asks. Out: its
// begin and its end, or a refusal. Work of a lane is served in order; between lanes, `domain/lanes.ts` decides.
import { tokenOf } from '../domain/actor.ts';
import { AppError } from '../domain/errors.ts';
import { LANE_NAMES, LANES, type Lane, refusalIn, retryAfterMsOf } from '../domain/lanes.ts';
import type { Clock } from '../domain/ports.ts';
import { newCounters, type QueueCounters } from './queue-counters.ts';

export interface Asker {
  /** Who asks with a token; undefined for the daemon itself. */
  by?: string | undefined;
  /** Work that waits under the same text is done once, for all who asked for it. */
  same?: string | undefined;
}

/** A place in the queue. `began` never rejects; `ended` has the errors of the work, or AppError `stopped`. */
export interface Turn<T> {
  began: Promise<T>;
  ended: Promise<T>;
  /** Equal work was waiting already: this is its turn. */
  joined: boolean;
}

/** `begun`: for work that has something to show before it ends. */
export type Work<T> = (begun: (value: T) => void) => Promise<T>;

interface Waiting {
  by: string | undefined;
  same: string | undefined;
  sinceMs: number;
  turn: Turn<unknown>;
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class RunQueue {
  private readonly lanes = LANE_NAMES.map((name) => ({ name, waiting: [] as Waiting[], passed: 0 }));
  private underWay: Promise<void> | undefined;
  private lastTookMs = 0;
  private stopped = false;

  constructor(
    private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
    readonly counters: QueueCounters = newCounters(clock.nowMs()),
  ) {}

  /** Errors: those of the work; AppError `busy` when too much waits, `stopped` when the process is ending. */
  async inTurn<T>(lane: Lane, by: string | undefined, work: () => Promise<T>): Promise<T> {
    return this.ask(lane, work, { by }).ended;
  }

  /** Errors: AppError `busy`, `stopped`. */
  ask<T>(lane: Lane, work: Work<T>, { by: actor, same }: Asker = {}): Turn<T> {
    // Places are counted for each token, whoever holds it.
    const by = actor && tokenOf(actor);
    if (this.stopped) throw ending();
    const { waiting } = this.laneOf(lane);
    const equal = same === undefined ? undefined : waiting.find((one) => one.same === same);
    const counters = this.counters.lanes[lane];
    if (!equal) this.demandPlace(lane, waiting, by);
    counters.accepted += 1;
    counters.refusal = undefined;
    if (equal) {
      counters.joined += 1;
      return { ...(equal.turn as Turn<T>), joined: true };
    }
    const { turn, ...ends } = turnOf(work);
    waiting.push({ by, same, sinceMs: this.clock.monotonicMs(), turn, ...ends });
    this.next();
    return turn;
  }

  /** How much waits in a lane now. */
  waiting(lane: Lane): number {
    return this.laneOf(lane).waiting.length;
  }

  /** Nothing new begins, and what waits is refused. Resolves when the work under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const { waiting } of this.lanes) for (const one of waiting.splice(0)) one.reject(ending());
    await this.underWay;
  }

  private demandPlace(lane: Lane, waiting: readonly Waiting[], by: string | undefined): void {
    const reason = refusalIn(lane, waiting, by);
    if (reason === undefined) return;
    const counters = this.counters.lanes[lane];
    counters.refused += 1;
    counters.refusal = { at: this.clock.nowMs(), reason };
    throw new AppError('busy', reason, { retryAfterMs: retryAfterMsOf(this.lastTookMs) });
  }

  private next(): void {
    const lane = this.underWay || this.stopped ? undefined : this.nextLane();
    const one = lane?.waiting.shift();
    if (!lane || !one) return;
    for (const other of this.lanes) if (other.waiting.length > 0) other.passed += 1;
    lane.passed = 0;
    const beganMs = this.clock.monotonicMs();
    const counters = this.counters.lanes[lane.name];
    counters.waitMsMax = Math.max(counters.waitMsMax, beganMs - one.sinceMs);
    const ended = (how: 'done' | 'failed') => {
      counters[how] += 1;
      this.lastTookMs = this.clock.monotonicMs() - beganMs;
      this.underWay = undefined;
      this.next();
    };
    this.underWay = Promise.resolve()
      .then(one.work)
      .then(
        (value) => {
          ended('done');
          one.resolve(value);
        },
        (error: unknown) => {
          ended('failed');
          one.reject(error);
        },
      );
  }

  /** The lane that was passed over too often, the longest first; otherwise the first one with work. */
  private nextLane() {
    const waiting = this.lanes.filter((lane) => lane.waiting.length > 0);
    const overdueBy = ({ name, passed }: { name: Lane; passed: number }) =>
      Math.max(passed - LANES[name].passedMax, -1);
    return waiting.sort((one, other) => overdueBy(other) - overdueBy(one))[0];
  }

  private laneOf(name: Lane) {
    return this.lanes[LANE_NAMES.indexOf(name)] as (typeof this.lanes)[number];
  }
}

function ending(): AppError {
  return new AppError('stopped', 'the daemon is being stopped');
}

function turnOf<T>(work: Work<T>) {
  const began = Promise.withResolvers<T>();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => {}); // nobody may have stayed to hear of a failure
  const turn: Turn<T> = { began: began.promise, ended: promise, joined: false };
  return { turn, work: () => work(began.resolve), resolve: resolve as (value: unknown) => void, reject };
}
