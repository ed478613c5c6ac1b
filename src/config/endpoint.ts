// Configuration: what an endpoint over PostgreSQL needs as a process, whichever organizations it has. In: environment and flags. Out: checked
// settings. Those of an organization are read when it is opened.
import type { PostgresDatabase } from '../domain/database.ts';
import { hostsIn } from '../domain/hosts.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import type { RateLimits } from '../http/rate-limit.ts';
import { publicUrlOf } from '../notify/settings.ts';
import { readToken } from './access.ts';
import { readDatabase } from './database.ts';
import type { Flags } from './database-path.ts';
import { type LogSettings, readLog } from './log.ts';
import { readRateLimits } from './rate-limit.ts';
import { type Address, ConfigReader, type Environment } from './reader.ts';

export interface EndpointSettings {
  /** Of the organization that the environment configures, which is there only without a folder. */
  database: PostgresDatabase;
  /** The folder of organizations. */
  organizations: string | undefined;
  listen: Address;
  /** The token of the configuration, and the file that it came from. */
  token: string | undefined;
  tokenFile: string | undefined;
  publicUrl: string | undefined;
  allowedHosts: string[];
  rateLimits: RateLimits | undefined;
  /** Of metrics without a token; undefined: `/metrics` of the endpoint alone, with one. */
  metricsListen: Address | undefined;
  log: LogSettings;
}

/** Flags of the work of organizations, which an endpoint does not do. */
const OF_WORKERS = {
  apiUrl: '--api-url',
  rules: '--rules',
  schedule: '--schedule',
  watch: '--watch',
  mode: '--mode',
  actConcurrency: '--act-concurrency',
} as const;

/** Errors: AppError `config` with every mistake, one per line. */
export function readEndpoint(env: Environment, flags: Flags): EndpointSettings {
  const reader = new ConfigReader(env);
  const database = readDatabase(reader, flags, DEFAULT_ORGANIZATION) as PostgresDatabase;
  for (const name of Object.keys(OF_WORKERS) as (keyof typeof OF_WORKERS)[])
    if (flags[name] !== undefined)
      reader.fault(
        OF_WORKERS[name],
        `${OF_WORKERS[name]} is given, and with PostgreSQL \`serve\` makes no runs: leave it out, and configure the organization for its workers`,
      );
  const settings: EndpointSettings = {
    database,
    organizations: reader.text('TRUSTWARD_ORGANIZATIONS'),
    listen: reader.listen(flags.listen),
    token: readToken(reader),
    tokenFile: reader.secretFiles.get('TRUSTWARD_TOKEN'),
    publicUrl: publicUrlOf(reader),
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
    rateLimits: readRateLimits(reader),
    metricsListen: reader.metricsListen(),
    log: readLog(reader),
  };
  reader.finish();
  return settings;
}
