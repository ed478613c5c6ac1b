// jobs: the port of jobs on PostgreSQL, over a kept engine (docs/decisions/0048-the-job-engine.md). In: an address. Out: asking, waiting,
// working, schedules and figures; each for the organization that the caller names.
import type { JobAsk, JobCount, JobSchedule, Jobs, WorkSettings } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { Answers } from './answers.ts';
import { ask } from './ask.ts';
import { COUNTS } from './counts.ts';
import { type EngineSettings, query, startEngine } from './engine.ts';
import { keepSchedules, prepareSchedules } from './schedules.ts';
import { seldom } from './seldom.ts';
import { startWork } from './work.ts';

export interface JobsSettings extends EngineSettings {
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'sleep'>;
}

/** Makes or updates what the engine stores. Errors: AppError `store_failed`. */
export async function openJobs(settings: JobsSettings): Promise<Jobs> {
  const { clock } = settings;
  const engine = await startEngine({ ...settings, log: seldom(settings.log, clock) });
  await prepareSchedules(engine);
  const answers = new Answers(engine, clock);
  return {
    ask: (job: JobAsk) => ask(engine, job),
    answerOf: (wanted) => answers.answerOf(wanted),
    work: (settings: WorkSettings) => startWork({ ...settings, engine, clock }),
    keepSchedules: (schedules: () => readonly JobSchedule[], signal: AbortSignal) =>
      keepSchedules(engine, clock, schedules, signal),
    counts: () => query<JobCount>(engine, COUNTS),
    close: async () => {
      await answers.close();
      await engine.boss.stop({ graceful: false });
    },
  };
}
