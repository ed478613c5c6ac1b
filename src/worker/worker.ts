// worker: a process that works for all organizations, beside any number of its kind on any machines: it keeps their schedules and carries out
// their jobs. In: organizations, a server, jobs. Out: a handle to stop it.
import type { JobSchedule, Jobs } from '../domain/jobs.ts';
import { nextAfter, timesBetween } from '../schedule/schedule.ts';
import { handlersOf, type Worked } from './handlers.ts';
import type { WorkedOn } from './organizations.ts';

export interface WorkerParts extends Worked {
  jobs: Jobs;
  /** Organizations worked on at the same time, and other jobs beside them. */
  concurrency: { lanes: number; beside: number };
}

/** Resolves when the process is to end and what was under way has ended. */
export async function startWorker({ jobs, concurrency, ...worked }: WorkerParts): Promise<{ ended: Promise<void> }> {
  const { organizations, ending, log } = worked;
  const ids = () => new Set(organizations.all().map(({ id }) => id));
  const handlers = handlersOf(worked);
  const { ended } = await jobs.work({ handlers, concurrency, organizations: ids, signal: ending.asked });
  const scheduled = jobs.keepSchedules(() => organizations.all().flatMap(schedulesOf), ending.asked);
  scheduled.catch((error) => log.error({}, `schedules are not kept any longer: ${String(error)}`));
  return { ended: Promise.all([ended, scheduled, worked.server.untilEnding(ending.asked)]).then(() => {}) };
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const TIMES_MOST = 1_000;

function schedulesOf({ id: organization, outline: { schedule, watchMs, hasWebhooks } }: WorkedOn): JobSchedule[] {
  const run: JobSchedule = {
    organization,
    kind: 'run',
    nextMs: (afterMs) => nextAfter(schedule, afterMs),
    timesBetween: (afterMs, untilMs) => timesBetween(schedule, afterMs, untilMs, TIMES_MOST),
  };
  return [
    run,
    ...(watchMs > 0 ? [every(organization, 'look', watchMs)] : []),
    ...(hasWebhooks ? [every(organization, 'deliver', MINUTE_MS)] : []),
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
