// commands: `serve` with PostgreSQL: the endpoint and its pages, beside any number of its kind; workers make the runs. It ends on SIGTERM or SIGINT.
import { Closing } from '../compose/closing.ts';
import { composeJobs } from '../compose/jobs.ts';
import { openServer } from '../compose/postgres.ts';
import { readEndpoint } from '../config/endpoint.ts';
import { type Endpoint, startEndpoint } from '../endpoint/endpoint.ts';
import { demandApi, WITHOUT } from '../endpoint/organization.ts';
import { systemClock } from '../system/clock.ts';
import { Ending } from '../system/ending.ts';
import { systemLog } from '../system/log.ts';
import { openOrganizations } from '../worker/organizations.ts';
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
    `  Token           ${tokenPlace ?? 'those of `trustward tokens add`'}`,
    ...(metricsUrl === undefined ? [] : [`  Metrics         ${metricsUrl}/metrics`]),
    `  Organizations   ${count}`,
    `  Database        ${database}`,
    '',
    'Runs are made by workers: start `trustward worker` with the same settings. Ctrl-C ends this.',
    '',
  ].join('\n');
}
