// cli: `serve` with PostgreSQL: the endpoint and its pages, beside any number of its kind; workers make the runs. It ends on SIGTERM or SIGINT.

import { LastGoodRules } from '../../rules/active/rule-holder.ts';
import { KnownRules } from '../../rules/load/read-rule.ts';
import { sharedRecording } from '../../runtime/compose/compose.ts';
import { Closing } from '../../runtime/compose/opened.ts';
import { openServer } from '../../runtime/compose/postgres.ts';
import { composeJobs } from '../../runtime/compose/workers.ts';
import { readEndpoint, readWorkerSettings } from '../../runtime/config/config.ts';
import { type Endpoint, startEndpoint } from '../../runtime/endpoint/endpoint.ts';
import { demandApi, WITHOUT } from '../../runtime/endpoint/organization.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemLog } from '../../runtime/system/log.ts';
import { Ending, keepHeapLean } from '../../runtime/system/process.ts';
import { startWorker } from '../../runtime/worker/handlers.ts';
import { openOrganizations } from '../../runtime/worker/organization-lines.ts';
import { plural } from '../report/fact-text.ts';
import { type CommonOptions, flagsOf, type Io, writeText } from './io.ts';

export async function serveEndpointCommand(io: Io, options: CommonOptions): Promise<number> {
  const flags = flagsOf(options);
  const settings = readEndpoint(io.env, flags);
  const { database } = settings;
  const log = systemLog(settings.log);
  const closing = new Closing();
  try {
    const organizations = await openOrganizations(environmentOf(io, settings.organizations), flags, systemClock, log);
    closing.add(() => organizations.stop());
    if (!organizations.holder) for (const { id } of organizations.all()) demandApi(organizations.configOf(id, WITHOUT));
    const server = await openServer(database, systemClock, log);
    const { clock } = server;
    closing.add(() => server.close());
    const jobs = await composeJobs(server, database, log);
    closing.add(() => jobs.close());
    const ending = io.ending ?? new Ending();
    const endpoint = await startEndpoint({ settings, organizations, server, jobs, clock, log, ending });
    writeText(io, welcome(endpoint, organizations.all().length, database.url));
    await io.untilStopped();
    await endpoint.stop();
  } finally {
    await closing.close();
  }
  return 0;
}

/** The token of the configuration is that of the process, where there are several organizations: none of them may have it. */
function environmentOf({ env }: Io, folder: string | undefined): Io['env'] {
  if (folder === undefined) return env;
  const { TRUSTWARD_TOKEN: _, TRUSTWARD_TOKEN_FILE: __, ...others } = env;
  return others;
}

function welcome({ url, tokenPlace, metricsUrl }: Endpoint, count: number, database: string): string {
  return [
    '',
    'Trustward answers.',
    '',
    `  HTTP endpoint   ${url}`,
    `  Token           ${tokenPlace ?? 'those of `trustward tokens add NAME --scope SCOPE`'}`,
    ...(metricsUrl === undefined ? [] : [`  Metrics         ${metricsUrl}/metrics`]),
    `  Organizations   ${count}`,
    `  Database        ${database}`,
    '',
    'Runs are made by workers: start `trustward worker` with the same settings. Ctrl-C ends this.',
    '',
  ].join('\n');
}

// `worker`: carries out the jobs of all organizations of a PostgreSQL database, beside any number of its kind.

export async function workerCommand(io: Io, options: CommonOptions & { concurrency?: string }): Promise<number> {
  keepHeapLean();
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
