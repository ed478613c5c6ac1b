// schedule: when runs happen. croner lives here alone; missed times become one run, and a failing run does not end the schedule.
import { Cron } from 'croner';

/** What is wrong with a cron expression; undefined when it is one. */
export function scheduleFault(expression: string): string | undefined {
  try {
    const cron = new Cron(expression, { paused: true });
    const next = cron.nextRun();
    cron.stop();
    return next === null ? 'it never comes true' : undefined;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

export interface Schedule {
  nextMs(): number | undefined;
  stop(): void;
}

/** Calls `due` at each time. `due` must not throw; whether a run is under way already is its own affair. */
export function startSchedule(expression: string, due: () => void): Schedule {
  const cron = new Cron(expression, { catch: true }, due);
  return { nextMs: () => cron.nextRun()?.getTime(), stop: () => cron.stop() };
}
