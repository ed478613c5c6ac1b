// worker: a process that works for all organizations, beside any number of its kind on any machines: it keeps their schedules and carries out
// their jobs. In: organizations, a server, jobs. Out: a handle to stop it.
import type { JobSchedule, Jobs, Working } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { nextAfter, timesBetween } from '../schedule/schedule.ts';
import { handlersOf, type Worked } from './handlers.ts';
import type { WorkedOn } from './organizations.ts';
import { openWorkerPort, type PortSettings } from './port.ts';
import { WorkWatch } from './work-watch.ts';

export interface WorkerParts extends Worked {
  jobs: Jobs;
  clock: Clock;
  /** Organizations worked on at the same time, and other jobs beside them. */
  concurrency: { lanes: number; beside: number };
  /** Where its health and metrics are; undefined: nowhere. */
  port?: PortSettings | undefined;
}

export interface Worker {
  /** Of its health and metrics. */
  url: string | undefined;
  /** Resolves when the process is to end and what was under way has ended; health and metrics are shown until then. */
  ended: Promise<void>;
}

/** Errors: AppError `port_busy`, `config`, `store_failed`. */
export async function startWorker({ jobs, concurrency, port, clock, ...worked }: WorkerParts): Promise<Worker> {
  const { organizations, ending, log, server } = worked;
  const watch = new WorkWatch(clock);
  let working: Working | undefined;
  const places = concurrency.lanes + concurrency.beside;
  const shown = {
    organizations,
    server,
    jobs,
    watch,
    working: () => working,
    ending: ending.asked,
    places,
    clock,
    log,
  };
  const listening = port && (await openWorkerPort(port, shown));
  try {
    const ids = () => new Set(organizations.all().map(({ id }) => id));
    const handlers = handlersOf(worked, watch);
    working = await jobs.work({ handlers, concurrency, organizations: ids, signal: ending.asked });
  } catch (error) {
    await listening?.close(0);
    throw error;
  }
  const scheduled = jobs.keepSchedules(() => organizations.all().flatMap(schedulesOf), ending.asked);
  scheduled.catch((error) => log.error({}, `schedules are not kept any longer: ${String(error)}`));
  const ended = Promise.all([working.ended, scheduled, server.untilEnding(ending.asked)]).finally(() =>
    listening?.close(0),
  );
  return { url: listening?.url, ended: ended.then(() => {}) };
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const TIMES_MOST = 1_000;

function schedulesOf({ id: organization, outline: { schedule, watchMs, webhooks } }: WorkedOn): JobSchedule[] {
  const run: JobSchedule = {
    organization,
    kind: 'run',
    nextMs: (afterMs) => nextAfter(schedule, afterMs),
    timesBetween: (afterMs, untilMs) => timesBetween(schedule, afterMs, untilMs, TIMES_MOST),
  };
  return [
    run,
    ...(watchMs > 0 ? [every(organization, 'look', watchMs)] : []),
    ...(webhooks.length > 0 ? [every(organization, 'deliver', MINUTE_MS)] : []),
    every(organization, 'retention', DAY_MS),
  ];
}

/** At times that all processes compute alike. */
function every(organization: string, kind: JobSchedule['kind'], ms: number): JobSchedule {
  return {
    organization,
    kind,
    nextMs: (afterMs) => (Math.floor(afterMs / ms) + 1) * ms,
    timesBetween: (afterMs, untilMs) => Math.floor(untilMs / ms) - Math.floor(afterMs / ms),
  };
}
