// Configuration: environment and flags → one checked value; flags win. Every mistake is reported, one line each: the
// name, its value and what was expected. Secrets come from the environment or a file, never from arguments.
import { dirname, join } from 'node:path';
import { hostsIn, isLoopback } from '../../base/hosts.ts';
import { DAY_MS, formatDuration, isTimeZone } from '../../base/time.ts';
import { CEILINGS_DEFAULT, type CeilingSettings } from '../../domain/action.ts';
import { type ChangeWindow, parseWindows } from '../../domain/change-window.ts';
import { type Database, DEFAULT_ORGANIZATION, type PostgresDatabase } from '../../domain/database.ts';
import { SCOPES, type Scope } from '../../domain/endpoint-token.ts';
import { AppError } from '../../domain/errors.ts';
import { EVIDENCE_THRESHOLDS, type EvidenceThresholds } from '../../domain/evidence.ts';
import { LEASE_MS } from '../../domain/lease.ts';
import type { Lists } from '../../domain/lists.ts';
import { MODES, type Mode, PER_DAY_TIMES } from '../../domain/rule.ts';
import { isSource, SOURCES, type Source } from '../../domain/subjects.ts';
import { TRUST_DEFAULT, type TrustSettings } from '../../engine/pull/trust-gate.ts';
import type { RateLimits } from '../../faces/http/deps.ts';
import type { ProviderSettings } from '../../faces/http/provider.ts';
import type { SourceAccess } from '../../sources/given-reader.ts';
import { type MailSettings, readMailSettings } from '../notify/mail.ts';
import {
  type Destination,
  faultsOfWebhooks,
  type NotifySettings,
  publicUrlOf,
  readHeartbeat,
  readNotifySettings,
  readText,
} from '../notify/settings.ts';
import { LOG_LEVELS, type LogOptions } from '../system/log.ts';
import {
  type Environment,
  type Flags,
  isAddress,
  type MayLack,
  NameReader,
  readDatabase,
  readDatabasePath,
  readToken,
} from './name-reader.ts';
import { type Address, ConfigReader, readLists } from './reader.ts';

// What a rule's mode is earned by. In: the reader of names and values. Out: thresholds, or a fault for each that is wrong.

const EVIDENCE = 'TRUSTWARD_EVIDENCE';

function readRequiresReference(reader: ConfigReader): boolean {
  return reader.choice('TRUSTWARD_REQUIRE_REFERENCE', ['0', '1'] as const, '0') === '1';
}

/** Each figure, with the most that it can be. */
const FIGURES = {
  'approve-days': 3_650,
  'enforce-days': 3_650,
  coverage: 100,
  survivors: 1_000,
  flaps: 1_000_000,
  unknown: 100,
} as const;
type Figure = keyof typeof FIGURES;

/** For a command that reads nothing else of the configuration. Errors: AppError `config`. */
export function evidenceThresholdsOf(env: Environment): EvidenceThresholds {
  const reader = new ConfigReader(env);
  const thresholds = readEvidence(reader);
  reader.finish();
  return thresholds;
}

/** `enforce-days=30, unknown=2`: what is not named keeps its default. */
export function readEvidence(reader: ConfigReader): EvidenceThresholds {
  const { daysMin, coveredPercentMin, survivorsMax, flapsMax, unknownPercentMax } = EVIDENCE_THRESHOLDS;
  const figures: Record<Figure, number> = {
    'approve-days': daysMin.approve,
    'enforce-days': daysMin.enforce,
    coverage: coveredPercentMin,
    survivors: survivorsMax,
    flaps: flapsMax,
    unknown: unknownPercentMax,
  };
  for (const part of (reader.text(EVIDENCE) ?? '').split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [, name = '', text = ''] = /^([a-z-]+)\s*=\s*(\d{1,9})\s*%?$/.exec(part) ?? [];
    const value = Number(text);
    if (!isFigure(name))
      reader.fault(
        EVIDENCE,
        `${EVIDENCE} has \`${part}\`: expected ${Object.keys(FIGURES).join(', ')}, each as name=number`,
      );
    else if (value > FIGURES[name])
      reader.fault(EVIDENCE, `${EVIDENCE} has \`${part}\`: expected a whole number of at most ${FIGURES[name]}`);
    else figures[name] = value;
  }
  if (figures['enforce-days'] < figures['approve-days'])
    reader.fault(
      EVIDENCE,
      `${EVIDENCE}: enforce-days is less than approve-days: mode enforce would be earned before mode approve`,
    );
  return {
    daysMin: { approve: figures['approve-days'], enforce: figures['enforce-days'] },
    coveredPercentMin: figures.coverage,
    survivorsMax: figures.survivors,
    flapsMax: figures.flaps,
    unknownPercentMax: figures.unknown,
  };
}

function isFigure(name: string): name is Figure {
  return Object.hasOwn(FIGURES, name);
}

// The history of what runs saw.

export interface HistorySettings {
  /** How long the history is kept, ms; 0: nothing is recorded. */
  historyMs: number;
  /** Lists, and the event log, that runs read for the history alone. */
  recordedLists: ReadonlySet<Source>;
}

export function readHistory(reader: ConfigReader): HistorySettings {
  const historyMs = reader.duration('TRUSTWARD_HISTORY', '30d', '0d');
  if (historyMs > 0 && historyMs < DAY_MS)
    reader.fault(
      'TRUSTWARD_HISTORY',
      'TRUSTWARD_HISTORY is shorter than 1d: expected a duration such as 30d, or 0d for no history',
    );
  const named = (reader.text('TRUSTWARD_RECORD') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  for (const name of named)
    if (!isSource(name))
      reader.fault('TRUSTWARD_RECORD', `TRUSTWARD_RECORD names \`${name}\`: expected some of ${SOURCES.join(', ')}`);
  if (named.length > 0 && historyMs === 0)
    reader.fault(
      'TRUSTWARD_RECORD',
      'TRUSTWARD_RECORD is set, and TRUSTWARD_HISTORY is 0d, so nothing is recorded: unset one of them',
    );
  return { historyMs, recordedLists: new Set(named.filter(isSource)) };
}

// The pages of persons.

export interface PeopleSettings {
  /** What their links begin with, before `/mine`; undefined: nobody could open one. */
  base: string | undefined;
  /** Their listener; undefined: the endpoint has them. */
  listen: Address | undefined;
}

/** What addresses of the pages of one organization begin with: with PostgreSQL the path names it. */
export function pagesWithin(url: string | undefined, database: Database): string | undefined {
  return url !== undefined && database.kind === 'postgres' ? `${url}/orgs/${database.organization}` : url;
}

/** With PostgreSQL the path names the organization: its database alone makes and opens the link. */
function readPeople(reader: ConfigReader, publicUrl: string | undefined, database: Database): PeopleSettings {
  const url = publicUrlOf(reader, 'TRUSTWARD_PEOPLE_URL') ?? publicUrl;
  const listen = reader.address('TRUSTWARD_PEOPLE_LISTEN', undefined, '127.0.0.1:8081');
  return { base: pagesWithin(url, database), listen };
}

/** For a command that reads nothing else of the configuration. Errors: AppError `config`. */
export function peopleBaseOf(env: Environment, database: Database): string | undefined {
  const reader = new ConfigReader(env);
  const { base } = readPeople(reader, publicUrlOf(reader), database);
  reader.finish();
  return base;
}

// Backups that the daemon makes by itself.

export interface BackupSettings {
  everyMs: number;
  folder: string;
  /** How many good ones stay. */
  keep: number;
}

function readBackup(reader: ConfigReader, { kind, beside }: Database): BackupSettings | undefined {
  const everyMs = reader.duration('TRUSTWARD_BACKUP', '0s', '0s');
  const folder = reader.text('TRUSTWARD_BACKUP_DIR') ?? join(dirname(beside), 'backups');
  const keep = reader.count('TRUSTWARD_BACKUP_KEEP', 7, 1);
  if (everyMs === 0) return undefined;
  if (kind === 'postgres') {
    reader.fault(
      'TRUSTWARD_BACKUP',
      'TRUSTWARD_BACKUP copies a SQLite file: unset it, and back up PostgreSQL with its own tools (pg_dump)',
    );
    return undefined;
  }
  if (everyMs < 60_000)
    reader.fault(
      'TRUSTWARD_BACKUP',
      'TRUSTWARD_BACKUP is shorter than 1m: expected a duration such as 1d, or 0s for none',
    );
  return { everyMs, folder, keep };
}

// Where persons sign in.

const OIDC = ['ISSUER', 'CLIENT_ID', 'SCOPES', 'ASK', 'GROUPS', 'CLIENT_SECRET', 'CLIENT_SECRET_FILE'].map(
  (name) => `TRUSTWARD_OIDC_${name}`,
);
const CLAIM = /^[\x21-\x7e]{1,200}$/;
const GROUP_SCOPE = /^(.{1,200}?)\s*=\s*([a-z]+)(?:@(\S+))?$/;

/** Undefined: they do not, with an identity provider. */
function readProvider(reader: ConfigReader, hasOrganizations: boolean): ProviderSettings | undefined {
  const [issuerName = '', clientName = '', scopesName = '', askName = '', groupsName = ''] = OIDC;
  const given = OIDC.filter((name) => reader.text(name) !== undefined);
  if (given.length === 0) return undefined;
  const secret = reader.secret('TRUSTWARD_OIDC_CLIENT_SECRET');
  const needed = (name: string) => {
    const text = reader.text(name);
    if (text === undefined) reader.fault(name, `${name} is not set, and ${given[0]} is: signing in needs both`);
    return text ?? '';
  };
  if (secret === undefined && !given.some((name) => name.startsWith('TRUSTWARD_OIDC_CLIENT_SECRET')))
    needed('TRUSTWARD_OIDC_CLIENT_SECRET_FILE');
  const issuer = needed(issuerName);
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (issuer !== '' && (!url || !isSafe || url.username || url.search || url.hash || /[\s()]/.test(issuer)))
    reader.fault(
      issuerName,
      `${issuerName} is no address of a provider: expected one such as https://id.example.com, as the provider writes it; http:// on this machine alone`,
    );
  const clientId = needed(clientName);
  const groupsClaim = reader.text(groupsName) ?? 'groups';
  if (!CLAIM.test(groupsClaim))
    reader.fault(groupsName, `${groupsName} is \`${groupsClaim}\`: expected the name of a claim such as groups`);
  const asks = (reader.text(askName) ?? 'email profile groups').split(/[\s,]+/).filter((one) => CLAIM.test(one));
  const scopes = needed(scopesName)
    .split(',')
    .filter((part) => part.trim() !== '')
    .flatMap((part) => {
      const [, group = '', scope = '', organization] = GROUP_SCOPE.exec(part.trim()) ?? [];
      const isScope = (SCOPES as readonly string[]).includes(scope);
      if (isScope && (organization === undefined || hasOrganizations))
        return [{ group, scope: scope as Scope, organization }];
      const expected = hasOrganizations ? 'group=scope or group=scope@organization' : 'group=scope';
      reader.fault(
        scopesName,
        `${scopesName} has \`${part.trim()}\`: expected ${expected}, with one of ${SCOPES.join(', ')}`,
      );
      return [];
    });
  return { issuer, clientId, secret: secret ?? '', asks: ['openid', ...asks], groupsClaim, scopes };
}

/** One-time links that sign in to the page. */
function readLinks(reader: ConfigReader): boolean {
  return reader.choice('TRUSTWARD_LINKS', ['on', 'off'] as const, 'on') === 'on';
}

type LogSettings = Pick<LogOptions, 'level' | 'form'>;

function readLog(reader: ConfigReader): LogSettings {
  return {
    level: reader.choice('TRUSTWARD_LOG_LEVEL', LOG_LEVELS, 'info'),
    form: reader.choice('TRUSTWARD_LOG_FORMAT', ['json', 'plain'], process.stderr.isTTY ? 'plain' : 'json'),
  };
}

const NAME = 'TRUSTWARD_RATE_LIMIT';
const DEFAULT = '3000,600';

/** `3000,600`: reads and writes of one token in a minute; `0`: no limit. */
function readRateLimits(reader: ConfigReader): RateLimits | undefined {
  const text = reader.text(NAME) ?? DEFAULT;
  if (text === '0') return undefined;
  const parts = /^(\d{1,7})\s*,\s*(\d{1,7})$/.exec(text);
  const [reads, writes] = [Number(parts?.[1]), Number(parts?.[2])];
  if (reads >= 1 && writes >= 1) return { reads, writes };
  reader.fault(
    NAME,
    `${NAME} is \`${text}\`: expected reads and writes in a minute such as ${DEFAULT}, or 0 for no limit`,
  );
  return undefined;
}

/** All but how far clocks may differ, which is one of the settings of time. */
type TrustThresholds = Omit<TrustSettings, 'skewMs'>;

function readTrust(reader: ConfigReader): TrustThresholds {
  const usual = TRUST_DEFAULT;
  return {
    unreadablePercent: reader.percent('TRUSTWARD_TRUST_UNREADABLE_PERCENT', usual.unreadablePercent),
    shrunkPercent: reader.percent('TRUSTWARD_TRUST_SHRUNK_PERCENT', usual.shrunkPercent),
    shrunkRecords: reader.count('TRUSTWARD_TRUST_SHRUNK_RECORDS', usual.shrunkRecords, 0),
    grownTimes: reader.count('TRUSTWARD_TRUST_GROWN_TIMES', usual.grownTimes, 1),
    grownRecords: reader.count('TRUSTWARD_TRUST_GROWN_RECORDS', usual.grownRecords, 1),
    recordsMax: reader.count('TRUSTWARD_RECORDS_MAX', usual.recordsMax, 1),
    movedPoints: reader.percent('TRUSTWARD_TRUST_MOVED_POINTS', usual.movedPoints),
    movedRecords: reader.count('TRUSTWARD_TRUST_MOVED_RECORDS', usual.movedRecords, 0),
    driftDayPercent: reader.percent('TRUSTWARD_TRUST_DRIFT_DAY_PERCENT', usual.driftDayPercent),
    driftWeekPercent: reader.percent('TRUSTWARD_TRUST_DRIFT_WEEK_PERCENT', usual.driftWeekPercent),
    stillMs: reader.duration('TRUSTWARD_TRUST_STILL', '30m', '1m'),
  };
}

// Change windows and quiet hours.

interface WindowSettings {
  /** In these nothing acts; undoing is never held. */
  freeze: readonly ChangeWindow[];
  /** In these alerts wait. */
  quietHours: readonly ChangeWindow[];
}

/** For a command that reads nothing else of the configuration. Errors: AppError `config`. */
export function readSchedule(env: Environment): Pick<Config, 'schedule'> & { windows: readonly ChangeWindow[] } {
  const reader = new ConfigReader(env);
  const { freeze: windows } = readWindowSettings(reader, readTimeZone(reader));
  const schedule = scheduleIn(reader, undefined, reader.text('TRUSTWARD_API_URL') === undefined);
  reader.finish();
  return { windows, schedule };
}

function scheduleIn(reader: ConfigReader, flag: string | undefined, demo: boolean): string {
  return reader.schedule(flag, demo ? '*/15 * * * * *' : '*/5 * * * *');
}

function readTimeZone(reader: ConfigReader): string {
  const given = reader.text('TRUSTWARD_TIME_ZONE') ?? 'UTC';
  const isZone = isTimeZone(given);
  if (!isZone)
    reader.fault(
      'TRUSTWARD_TIME_ZONE',
      `TRUSTWARD_TIME_ZONE is \`${given}\`: expected a time zone such as Europe/Berlin`,
    );
  return isZone ? given : 'UTC';
}

function readWindowSettings(reader: ConfigReader, timeZone: string): WindowSettings {
  const windowsOf = (name: string) => {
    const { windows, faults } = parseWindows(reader.text(name), timeZone);
    for (const fault of faults) reader.fault(name, `${name}: ${fault}`);
    return windows;
  };
  return { freeze: windowsOf('TRUSTWARD_FREEZE'), quietHours: windowsOf('TRUSTWARD_QUIET_HOURS') };
}

/** A rule can be off; a run that does nothing makes no sense. */
/** `of`: what is read: sources of facts, or signals. */
function readAccess(reader: ConfigReader, of: 'SOURCE' | 'SIGNAL'): Config['sources'] {
  const ca = `TRUSTWARD_${of}_CA`;
  const caFile = reader.text(ca);
  const [hosts, privateHosts] = [`TRUSTWARD_${of}_HOSTS`, `TRUSTWARD_${of}_PRIVATE_HOSTS`].map((name) =>
    hostsIn(reader.text(name)),
  );
  return {
    folder: reader.text(`TRUSTWARD_${of}S`),
    hosts: [...(hosts ?? []), ...(privateHosts ?? [])],
    privateHosts: privateHosts ?? [],
    ca: caFile === undefined ? undefined : readText(caFile, ca, ca, reader),
    variable: (name) => reader.text(name),
  };
}

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
  /** The file of those who may sign rules; undefined: rules need no signature. */
  rulesSigners: string | undefined;
  /** What sources of facts from elsewhere may read. */
  sources: Omit<SourceAccess, 'addressesOf'>;
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
  provider: ProviderSettings | undefined;
  hasLinks: boolean;
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
  people: PeopleSettings;
  /** Of metrics without a token; undefined: `/metrics` of the endpoint alone, with one. */
  metricsListen: Address | undefined;
  /** Undefined: no heartbeat is sent. */
  heartbeat: Destination | undefined;
  /** Which transmitters of signals may be asked, and where their secrets and keys are. */
  signals: Omit<SourceAccess, 'addressesOf'>;
  mail: MailSettings;
  windows: WindowSettings;
  /** A person who changes something names a ticket or change number. */
  requiresReference: boolean;
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
  const timeZone = readTimeZone(reader);
  const notify = readNotifySettings(reader);
  const config: Config = {
    api,
    lists: readLists(reader),
    db: database.kind === 'sqlite' ? database.file : database.url,
    database,
    rulesDir: flags.rules ?? rules ?? 'rules',
    rulesSigners: reader.text('TRUSTWARD_RULES_SIGNERS'),
    sources: readAccess(reader, 'SOURCE'),
    schedule: scheduleIn(reader, flags.schedule, demo),
    watchMs: reader.watch(flags.watch, demo ? '5s' : '30s'),
    mode: reader.flag('--mode', flags.mode, RUN_MODES) ?? modeCap ?? (demo ? 'enforce' : 'dry-run'),
    modeCap,
    listen: reader.listen(flags.listen),
    token: readToken(reader),
    secretFiles: reader.secretFiles,
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
    rateLimits: readRateLimits(reader),
    provider: readProvider(reader, database.kind === 'postgres'),
    hasLinks: readLinks(reader),
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
    notify,
    people: readPeople(reader, notify.publicUrl, database),
    metricsListen: reader.metricsListen(),
    heartbeat: mayLack.includes('secrets') ? undefined : readHeartbeat(reader),
    signals: readAccess(reader, 'SIGNAL'),
    mail: readMailSettings(reader, timeZone),
    windows: readWindowSettings(reader, timeZone),
    requiresReference: readRequiresReference(reader),
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
      `${flags.apiUrl === undefined ? 'TRUSTWARD_API_URL' : '--api-url'} is set but no credential is: set TRUSTWARD_API_KEY or TRUSTWARD_REFRESH_TOKEN (or the same name with _FILE)`,
    );
  const credential: Credential = apiKey
    ? { kind: 'api_key', secret: apiKey }
    : { kind: 'refresh_token', secret: refreshToken ?? '' };
  const isAdminUnread = adminToken === undefined && reader.text('TRUSTWARD_ADMIN_TOKEN_FILE') !== undefined;
  return { url, credential: isAdminUnread ? { ...credential, secret: '' } : credential, adminToken };
}

// What an endpoint over PostgreSQL needs as a process, whichever organizations it has.

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
  people: PeopleSettings;
  allowedHosts: string[];
  rateLimits: RateLimits | undefined;
  provider: ProviderSettings | undefined;
  hasLinks: boolean;
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
    people: readPeople(reader, publicUrlOf(reader), database),
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
    rateLimits: readRateLimits(reader),
    provider: readProvider(reader, true),
    hasLinks: readLinks(reader),
    metricsListen: reader.metricsListen(),
    log: readLog(reader),
  };
  reader.finish();
  return settings;
}

// The settings of a worker itself, whatever organizations it works for.

interface WorkerSettings {
  database: PostgresDatabase;
  log: LogSettings;
  /** How long an actor counts as alive without a heartbeat, ms. */
  leaseMs: number;
  /** Organizations at the same time. */
  concurrency: number;
  /** Health and metrics; undefined: nowhere. */
  listen: Address | undefined;
  allowedHosts: string[];
}

const CONCURRENCY = 8;

/** Errors: AppError `config` with every mistake, one per line. */
export function readWorkerSettings(env: Environment, flags: Flags, concurrency?: string): WorkerSettings {
  const text = readDatabasePath(env, flags);
  if (!isAddress(text))
    throw new AppError(
      'config',
      `\`${text}\` is a SQLite database, and workers share one of PostgreSQL: set TRUSTWARD_DB to postgres://…, or run \`trustward serve\`, which does all of it over a file`,
    );
  const reader = new ConfigReader(env);
  const database = readDatabase(reader, flags, DEFAULT_ORGANIZATION);
  const settings = {
    log: readLog(reader),
    leaseMs: reader.duration('TRUSTWARD_LEASE', `${LEASE_MS / 1_000}s`, '1s'),
    concurrency: reader.countUpTo('TRUSTWARD_WORKER_CONCURRENCY', '--concurrency', concurrency, CONCURRENCY, 64),
    listen: reader.address('TRUSTWARD_WORKER_LISTEN', flags.listen, '127.0.0.1:9465'),
    allowedHosts: hostsIn(reader.text('TRUSTWARD_ALLOWED_HOSTS')),
  };
  reader.finish();
  return { ...settings, database: database as PostgresDatabase };
}
