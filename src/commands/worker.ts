// commands: `worker`: carries out the jobs of all organizations of a PostgreSQL database, beside any number of its kind. It ends on SIGTERM or SIGINT:
// nothing new is taken, and work under way is finished or given back.
import { Closing } from '../compose/closing.ts';
import { composeJobs } from '../compose/jobs.ts';
import { openServer } from '../compose/postgres.ts';
import { sharedRecording } from '../compose/recorder.ts';
import { readWorkerSettings } from '../config/worker.ts';
import { KnownRules } from '../evaluate/index.ts';
import { plural } from '../report/index.ts';
import { LastGoodRules } from '../rule-set/last-good-rules.ts';
import { systemClock } from '../system/clock.ts';
import { Ending } from '../system/ending.ts';
import { systemLog } from '../system/log.ts';
import { openOrganizations } from '../worker/organizations.ts';
import { startWorker } from '../worker/worker.ts';
import { type CommonOptions, flagsOf, type Io, writeText } from './io.ts';

export async function workerCommand(io: Io, options: CommonOptions & { concurrency?: string }): Promise<number> {
  const flags = flagsOf(options);
  const settings = readWorkerSettings(io.env, flags, options.concurrency);
  const { database, leaseMs, concurrency, listen, allowedHosts } = settings;
  const log = systemLog(settings.log);
  const closing = new Closing();
  try {
    const organizations = await openOrganizations(io.env, flags, systemClock, log);
    closing.add(() => organizations.stop());
    const recording = sharedRecording();
    closing.add(() => recording.close());
    const server = await openServer(database, systemClock, log, leaseMs);
    const { clock } = server;
    closing.add(() => server.close());
    const jobs = await composeJobs(server, database, log);
    closing.add(() => jobs.close());
    const ending = io.ending ?? new Ending();
    const rules = { knownRules: new KnownRules(), lastGood: new LastGoodRules() };
    const worked = { organizations, server, recording, ...rules, ending, jobs, log, clock };
    const port = listen && { listen, allowedHosts };
    const { ended, url } = await startWorker({ ...worked, port, concurrency: { lanes: concurrency, beside: 2 } });
    const count = plural(organizations.all().length, 'organization');
    const where = url === undefined ? '' : ` Health and metrics: ${url}.`;
    writeText(io, `Trustward works for ${count} on ${database.url}.${where} Ctrl-C ends it.\n`);
    await io.untilStopped();
    await ending.until('the jobs under way', ended);
  } finally {
    await closing.close();
  }
  return 0;
}
