// schedule: when runs happen. Only this file uses croner; missed times become one run, and a failing run does not end
// the schedule.
import { Cron } from 'croner';

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

export interface Overdue {
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
