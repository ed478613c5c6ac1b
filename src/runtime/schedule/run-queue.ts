// schedule: one piece of work at a time: a run, or what must not overlap one. In: work, its lane and who asks. Out: its
// begin and its end, or a refusal. Work of a lane is served in order; between lanes, `domain/jobs.ts` decides.

import { Cron } from 'croner';
import { tokenOf } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { LANE_NAMES, LANES, type Lane, type LaneCounters, refusalIn, retryAfterMsOf } from '../../domain/jobs.ts';
import type { Clock } from '../../domain/ports.ts';

/** Counted since `since`. One plain object: `/readyz` reads it, and metrics can. */
export interface QueueCounters {
  since: number;
  lanes: Record<Lane, LaneCounters>;
}

export function newCounters(since: number): QueueCounters {
  const none = { accepted: 0, joined: 0, refused: 0, done: 0, failed: 0, waitMsMax: 0, refusal: undefined };
  const lanes = Object.fromEntries(LANE_NAMES.map((lane) => [lane, { ...none }]));
  return { since, lanes: lanes as Record<Lane, LaneCounters> };
}

interface Asker {
  /** Who asks with a token; undefined for the daemon itself. */
  by?: string | undefined;
  /** Work that waits under the same text is done once, for all who asked for it. */
  same?: string | undefined;
}

/** A place in the queue. `began` never rejects; `ended` has the errors of the work, or AppError `stopped`. */
interface Turn<T> {
  began: Promise<T>;
  ended: Promise<T>;
  /** Equal work was waiting already: this is its turn. */
  joined: boolean;
}

/** `begun`: for work that has something to show before it ends. */
type Work<T> = (begun: (value: T) => void) => Promise<T>;

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

// When runs happen.

/** What is wrong with a cron expression; undefined for a valid one. */
export function scheduleFault(expression: string): string | undefined {
  try {
    const cron = new Cron(expression, { paused: true });
    const next = cron.nextRun();
    cron.stop();
    return next === null ? 'it never matches' : undefined;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

/**
 * How many times of a valid expression are after `afterMs`, up to and including `untilMs`, epoch ms. It counts no further than `most`: a
 * schedule of seconds has many times in a day.
 */
export function timesBetween(expression: string, afterMs: number, untilMs: number, most: number): number {
  const cron = new Cron(expression, { paused: true });
  let count = 0;
  for (let at = cron.nextRun(new Date(afterMs)); at && at.getTime() <= untilMs && count < most; at = cron.nextRun(at))
    count += 1;
  return count;
}

/** The first time of a valid expression after this one, epoch ms; undefined: there is none. */
export function nextAfter(expression: string, afterMs: number): number | undefined {
  return new Cron(expression, { paused: true }).nextRun(new Date(afterMs))?.getTime();
}

/** More missed times than this are all the same. */
export const MISSED_MOST = 1_000;
/** A run takes seconds, and others may go first. */
const LATE_MS = 60_000;

interface Overdue {
  /** The first time that nothing began at, epoch ms. */
  sinceMs: number;
  /** `MISSED_MOST`: so many or more. */
  times: number;
}

/** What a valid expression has been due since the last run began; undefined: none, or it may still be on its way. */
export function overdueAfter(expression: string, lastMs: number, nowMs: number): Overdue | undefined {
  const sinceMs = nextAfter(expression, lastMs);
  if (sinceMs === undefined || nowMs - sinceMs <= LATE_MS) return undefined;
  return { sinceMs, times: timesBetween(expression, lastMs, nowMs, MISSED_MOST) };
}

export interface Schedule {
  nextMs(): number | undefined;
  stop(): void;
}

/** Calls `due` at each time. `due` must not throw, and decides itself what to do while a run is under way. */
export function startSchedule(expression: string, due: () => void): Schedule {
  const cron = new Cron(expression, { catch: true }, due);
  return { nextMs: () => cron.nextRun()?.getTime(), stop: () => cron.stop() };
}
