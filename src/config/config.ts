// Configuration: environment and flags → one checked value; flags win. Every mistake is reported, one line each: the
// name, its value and what was expected. Secrets come from the environment or a file, never from arguments.

import { CEILINGS_DEFAULT, type CeilingSettings } from '../domain/ceiling.ts';
import type { Database } from '../domain/database.ts';
import { formatDuration } from '../domain/duration.ts';
import type { EvidenceThresholds } from '../domain/evidence.ts';
import { hostsIn } from '../domain/hosts.ts';
import type { Lists } from '../domain/lists.ts';
import { MODES, type Mode } from '../domain/mode.ts';
import { PER_DAY_TIMES } from '../domain/rule.ts';
import type { RateLimits } from '../http/rate-limit.ts';
import type { Destination } from '../notify/checked-request.ts';
import { readHeartbeat } from '../notify/heartbeat-settings.ts';
import { faultsOfWebhooks, type NotifySettings, readNotifySettings } from '../notify/settings.ts';
import { readToken } from './access.ts';
import { type BackupSettings, readBackup } from './backup.ts';
import { readDatabase } from './database.ts';
import type { Flags } from './database-path.ts';
import { readEvidence } from './evidence.ts';
import { type HistorySettings, readHistory } from './history.ts';
import { readLists } from './lists.ts';
import { type LogSettings, readLog } from './log.ts';
import { type MayLack, NameReader } from './name-reader.ts';
import { readRateLimits } from './rate-limit.ts';
import { type Address, ConfigReader, type Environment } from './reader.ts';
import { readTrust, type TrustThresholds } from './trust.ts';
import { readWindowSettings, type WindowSettings } from './windows.ts';

export type { MayLack } from './name-reader.ts';
export type { Environment } from './reader.ts';

/** A rule can be off; a run that does nothing makes no sense. */
export type RunMode = Exclude<Mode, 'off'>;
const RUN_MODES = MODES.filter((mode): mode is RunMode => mode !== 'off');

/** An empty secret: it could not be read, and whoever has this configuration may lack it. */
export type Credential = { kind: 'api_key' | 'refresh_token'; secret: string };

export interface Config extends HistorySettings {
  /** Undefined: the embedded console. Its credentials are replaced when their files change. */
  api: { url: string; credential: Credential; adminToken: string | undefined } | undefined;
  /** Where devices and users are listed. */
  lists: Lists;
  /** The file, or the address, which has no password. */
  db: string;
  database: Database;
  rulesDir: string;
  schedule: string;
  /** The time between two looks at the event log, ms; 0: none. */
  watchMs: number;
  /** The highest mode of any rule. */
  mode: RunMode;
  /** The environment's setting, whatever a flag says: the highest mode of a single run. */
  modeCap: RunMode | undefined;
  listen: Address;
  token: string | undefined;
  /** The files that secrets were read from, by the names of the secrets. */
  secretFiles: ReadonlyMap<string, string>;
  allowedHosts: string[];
  /** Requests of one token; undefined: no limit. */
  rateLimits: RateLimits | undefined;
  log: LogSettings;
  timing: {
    requestTimeoutMs: number;
    progressTimeoutMs: number;
    quietMs: number;
    goneAfterMs: number;
    planTtlMs: number;
    keepRunsMs: number;
    eventOverlapMs: number;
    clockSkewMs: number;
    exemptionWarnMs: number;
    exemptionUnusedMs: number;
  };
  attemptsMax: number;
  runFailuresMax: number;
  /** How many targets are acted on at once. */
  actConcurrency: number;
  serialDevicesMax: number;
  perDayTimes: number;
  ceilings: CeilingSettings;
  /** Undefined: the daemon makes none. */
  backup: BackupSettings | undefined;
  notify: NotifySettings;
  /** Of metrics without a token; undefined: `/metrics` of the endpoint alone, with one. */
  metricsListen: Address | undefined;
  /** Undefined: no heartbeat is sent. */
  heartbeat: Destination | undefined;
  windows: WindowSettings;
  /** What a rule's mode is earned by. */
  evidence: EvidenceThresholds;
  trust: TrustThresholds;
}

/**
 * `organization`: whose it is; otherwise `--org`, or the only one. `mayLack`: a credential of it is empty. Errors: AppError `config` with
 * every mistake, one per line; `usage` and `not_found` for `--org`.
 */
export function readConfig(env: Environment, flags: Flags = {}, organization?: string, mayLack: MayLack = []): Config {
  const reader = new ConfigReader(env, mayLack);
  const api = readApi(reader, flags);
  const demo = api === undefined;
  if (demo && env.NODE_ENV === 'production') {
    reader.fault(
      'TRUSTWARD_API_URL',
      'TRUSTWARD_API_URL is not set: the embedded console is for trying things out and refused with NODE_ENV=production',
    );
  }
  const modeCap = reader.choice('TRUSTWARD_MODE', RUN_MODES, undefined);
  const requestTimeoutMs = reader.duration('TRUSTWARD_REQUEST_TIMEOUT', '10s', '1s');
  const database = readDatabase(reader, flags, organization);
  const organizations = reader.text('TRUSTWARD_ORGANIZATIONS');
  if (database.kind === 'sqlite' && organizations !== undefined)
    reader.fault(
      ['TRUSTWARD_ORGANIZATIONS', 'TRUSTWARD_DB'],
      `TRUSTWARD_ORGANIZATIONS is set, and \`${database.file}\` is a SQLite database, which has one organization: set TRUSTWARD_DB to a PostgreSQL database, or unset TRUSTWARD_ORGANIZATIONS`,
    );
  const rules = reader.text('TRUSTWARD_RULES');
  const config: Config = {
    api,
    lists: readLists(reader),
    db: database.kind === 'sqlite' ? database.file : database.url,
    database,
    rulesDir: flags.rules ?? rules ?? 'rules',
    schedule: reader.schedule(flags.schedule, demo ? '*/15 * * * * *' : '*/5 * * * *'),
    watchMs: reader.watch(flags.watch, demo ? '5s' : '30s'),
    mode: reader.flag('--mode', flags.mode, RUN_MODES) ?? modeCap ?? (demo ? 'enforce' : 'dry-run'),
    modeCap,
    listen: reader.listen(flags.listen),
    token: readToken(reader),
    secretFiles: reader.secretFiles,
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
    rateLimits: readRateLimits(reader),
    log: readLog(reader),
    timing: {
      requestTimeoutMs,
      progressTimeoutMs: reader.duration('TRUSTWARD_PROGRESS_TIMEOUT', '30s', '1s'),
      quietMs: reader.duration('TRUSTWARD_QUIET_PERIOD', quietDefault(requestTimeoutMs), '0s'),
      goneAfterMs: reader.duration('TRUSTWARD_GONE_AFTER', '24h', '0s'),
      planTtlMs: reader.duration('TRUSTWARD_PLAN_TTL', '24h', '1m'),
      keepRunsMs: reader.duration('TRUSTWARD_KEEP_RUNS', '90d', '1d'),
      eventOverlapMs: reader.duration('TRUSTWARD_EVENT_OVERLAP', '5m', '0s'),
      clockSkewMs: reader.duration('TRUSTWARD_CLOCK_SKEW', '5m', '0s'),
      exemptionWarnMs: reader.duration('TRUSTWARD_EXEMPTION_WARNING', '24h', '0s'),
      exemptionUnusedMs: reader.duration('TRUSTWARD_EXEMPTION_UNUSED', '30d', '0s'),
    },
    attemptsMax: reader.count('TRUSTWARD_ATTEMPTS_MAX', 3, 1),
    runFailuresMax: reader.count('TRUSTWARD_RUN_FAILURES_MAX', 5, 1),
    actConcurrency: reader.countUpTo('TRUSTWARD_ACT_CONCURRENCY', '--act-concurrency', flags.actConcurrency, 8, 64),
    serialDevicesMax: reader.count('TRUSTWARD_SERIAL_DEVICES_MAX', 5, 1),
    // The embedded console lives through weeks within hours (decision 0012).
    perDayTimes: reader.count('TRUSTWARD_PER_DAY_TIMES', demo ? 100_000 : PER_DAY_TIMES, 1),
    ceilings: {
      run: reader.ceiling('TRUSTWARD_CEILING_RUN', CEILINGS_DEFAULT.run),
      // The made-up organization lives a year in a day: a real day's ceiling would hold everything within the hour.
      day: reader.ceiling('TRUSTWARD_CEILING_DAY', demo ? { max: 100_000, percent: 100 } : CEILINGS_DEFAULT.day),
    },
    backup: readBackup(reader, database),
    ...readHistory(reader),
    notify: readNotifySettings(reader),
    metricsListen: reader.metricsListen(),
    heartbeat: mayLack.includes('secrets') ? undefined : readHeartbeat(reader),
    windows: readWindowSettings(reader),
    evidence: readEvidence(reader),
    trust: readTrust(reader),
  };
  reader.finish();
  return config;
}

/** What is wrong with the webhooks, their secrets included; empty when nothing is. */
export function webhookFaultsIn(env: Environment): string[] {
  return faultsOfWebhooks(new NameReader(env));
}

/** INVARIANT: a request that timed out has had its effect, or never will, when its target is read back. */
function quietDefault(requestTimeoutMs: number): string {
  return formatDuration(Math.max(15_000, Math.ceil(requestTimeoutMs * 1.5)));
}

function readApi(reader: ConfigReader, flags: Flags): Config['api'] {
  const url = reader.baseUrl(flags.apiUrl);
  const apiKey = reader.secret('TRUSTWARD_API_KEY');
  const refreshToken = reader.secret('TRUSTWARD_REFRESH_TOKEN');
  const adminToken = reader.secret('TRUSTWARD_ADMIN_TOKEN');
  if (url === undefined) {
    const given = [
      apiKey && 'TRUSTWARD_API_KEY',
      refreshToken && 'TRUSTWARD_REFRESH_TOKEN',
      adminToken && 'TRUSTWARD_ADMIN_TOKEN',
    ].find(Boolean);
    if (given)
      reader.fault(
        [given, `${given}_FILE`],
        `${given} is set but TRUSTWARD_API_URL is not: set it to the base address of your console, or unset ${given} to use the embedded one`,
      );
    return undefined;
  }
  if (apiKey && refreshToken)
    reader.fault(
      ['TRUSTWARD_API_KEY', 'TRUSTWARD_REFRESH_TOKEN'],
      'TRUSTWARD_API_KEY and TRUSTWARD_REFRESH_TOKEN are both set: set one of them',
    );
  // A file that cannot be read has been reported.
  const isNamed = ['TRUSTWARD_API_KEY_FILE', 'TRUSTWARD_REFRESH_TOKEN_FILE'].some((name) => reader.text(name));
  if (!apiKey && !refreshToken && !isNamed)
    reader.fault(
      'TRUSTWARD_API_URL',
      'TRUSTWARD_API_URL is set but no credential is: set TRUSTWARD_API_KEY or TRUSTWARD_REFRESH_TOKEN (or the same name with _FILE)',
    );
  const credential: Credential = apiKey
    ? { kind: 'api_key', secret: apiKey }
    : { kind: 'refresh_token', secret: refreshToken ?? '' };
  const isAdminUnread = adminToken === undefined && reader.text('TRUSTWARD_ADMIN_TOKEN_FILE') !== undefined;
  return { url, credential: isAdminUnread ? { ...credential, secret: '' } : credential, adminToken };
}
