// commands: `worker`: carries out the jobs of all organizations of a PostgreSQL database, beside any number of its kind. It ends on SIGTERM or SIGINT:
// nothing new is taken, and work under way is finished or given back.
import { addressOf, openServer } from '../compose/postgres.ts';
import { sharedRecording } from '../compose/recorder.ts';
import { readWorkerSettings } from '../config/worker.ts';
import { KnownRules } from '../evaluate/index.ts';
import { openJobs } from '../jobs/jobs.ts';
import { LastGoodRules } from '../rule-set/last-good-rules.ts';
import { postgresError } from '../store/postgres/postgres-fault.ts';
import { systemClock } from '../system/clock.ts';
import { Ending } from '../system/ending.ts';
import { systemLog } from '../system/log.ts';
import { openOrganizations } from '../worker/organizations.ts';
import { startWorker } from '../worker/worker.ts';
import { type CommonOptions, flagsOf, type Io, writeText } from './io.ts';

export async function workerCommand(io: Io, options: CommonOptions & { concurrency?: string }): Promise<number> {
  const flags = flagsOf(options);
  const settings = readWorkerSettings(io.env, flags, options.concurrency);
  const { database, logLevel, logForm, leaseMs, concurrency, listen, allowedHosts } = settings;
  const log = systemLog({ level: logLevel, form: logForm });
  const organizations = await openOrganizations(io.env, flags, systemClock, log);
  const recording = sharedRecording();
  try {
    const server = await openServer(database, systemClock, log, leaseMs);
    const { clock } = server;
    try {
      const explain = (error: unknown) => postgresError(error, server.pool.place);
      const jobs = await openJobs({ url: addressOf(database), log, listen: server.listen, clock, explain });
      try {
        const ending = io.ending ?? new Ending();
        const rules = { knownRules: new KnownRules(), lastGood: new LastGoodRules() };
        const worked = { organizations, server, recording, ...rules, ending, jobs, log, clock };
        const port = listen && { listen, allowedHosts };
        const { ended, url } = await startWorker({ ...worked, port, concurrency: { lanes: concurrency, beside: 2 } });
        const count = organizations.all().length;
        writeText(
          io,
          `Trustward works for ${count} organization${count === 1 ? '' : 's'} on ${database.url}.${url === undefined ? '' : ` Health and metrics: ${url}.`} Ctrl-C ends it.\n`,
        );
        await io.untilStopped();
        await ending.until('the jobs under way', ended);
      } finally {
        await jobs.close();
      }
    } finally {
      await server.close();
    }
  } finally {
    await recording.close();
    await organizations.stop();
  }
  return 0;
}
