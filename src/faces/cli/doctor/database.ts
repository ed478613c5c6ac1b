// cli: `doctor`: the database and its audit: whether they are whole, of this version and this address, and
// writable. It opens them read-only; the file system answers whether they can be written.
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { shellWord } from '../../../base/text.ts';
import { ageText, formatDuration, spanText, timeText } from '../../../base/time.ts';
import { APPROVALS, approvalLines } from '../../../domain/approvals.ts';
import type { AuditCheck } from '../../../domain/audit-entry.ts';
import { type Database, databaseName, type SqliteDatabase } from '../../../domain/database.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { aboutText, coveredBy, coveredText } from '../../../domain/exemption.ts';
import { doubtOf, type FactTable } from '../../../domain/given-facts.ts';
import {
  GUARDS,
  type Guard,
  guardLines,
  guardName,
  guardsOf,
  isForgeable,
  ownerLines,
} from '../../../domain/guards.ts';
import type { IdentityReader } from '../../../domain/identity.ts';
import { lostFactsText } from '../../../domain/lists.ts';
import { beyondHistoryText } from '../../../domain/look-back.ts';
import { stopText } from '../../../domain/operator.ts';
import { MODES, rulesThatWarn } from '../../../domain/rule.ts';
import { distrustedNow } from '../../../domain/snapshot.ts';
import type { RecordReader, WorkReader } from '../../../domain/store-ports.ts';
import type { Source } from '../../../domain/subjects.ts';
import { ACTIONS, actionsWith } from '../../../engine/act/actions.ts';
import { privateKeyFileOf } from '../../../engine/audit/signing-key.ts';
import { restoredWhy, WAY_ON } from '../../../engine/audit/sources.ts';
import { historyBytes, historyFolderOf, listHistory } from '../../../history/files/segment-files.ts';
import type { ManagementClient } from '../../../platform/client.ts';
import { loadRuleFolder } from '../../../rules/active/rule-holder.ts';
import { rulesThatLose } from '../../../rules/compile/expressions.ts';
import type { LoadedRule } from '../../../rules/language/loaded-rule.ts';
import { rulesBeyondHistory } from '../../../rules/look-back.ts';
import { failingRules, runRuleTests } from '../../../rules/rule-tests/run-tests.ts';
import { composeClient } from '../../../runtime/compose/connection.ts';
import { givenReadings } from '../../../runtime/compose/given.ts';
import { composeVerification } from '../../../runtime/compose/opened.ts';
import { composeClock, composeReader } from '../../../runtime/compose/reader.ts';
import { withReader } from '../../../runtime/compose/run-reader.ts';
import type { Config } from '../../../runtime/config/config.ts';
import { SmtpMailer } from '../../../runtime/notify/mail.ts';
import { type NotifySettings, publicAddressesOf, type Webhook } from '../../../runtime/notify/settings.ts';
import { systemClock } from '../../../runtime/system/clock.ts';
import { BackupFolder, inspectDatabase, isOverdue, type KeptBackup } from '../../../store/sqlite/backup.ts';
import { showHidden } from '../../report/fact-text.ts';
import { auditCheckText } from '../../report/lists-text.ts';
import { inboxItems, transmittersNow } from '../../report/state-now.ts';
import { credentialName, namingApi } from '../daemon-client.ts';
import { sizeText } from '../io.ts';
import { type Check, countOfWords, ok, problem, warning } from './check.ts';

const NAME = 'database';

/** @param rules the active rules. */
export async function databaseChecks(config: Config, rules: readonly LoadedRule[]): Promise<Check[]> {
  const { database } = config;
  try {
    if (database.kind === 'postgres')
      return [...(await contentChecks(config, databaseName(database), rules)), ...(await recordChecks(database))];
    const { file } = database;
    if (!existsSync(file)) return [missing(file)];
    // First: a user who may not write beside a database cannot even read its newest state.
    const closed = unwritable(file);
    if (closed) return [closed, ...openToOthers(file)];
    const { tables, latest, damage } = inspectDatabase(file, 'quick');
    if (damage.length > 0)
      return [
        problem(NAME, `${file} is damaged: ${damage[0]}`, 'stop the daemon and restore a backup (docs/operating.md)'),
      ];
    const size = sizeText(fileSizeOf(file) + fileSizeOf(`${file}-wal`));
    const whole = `${file}: whole (quick check), ${size}, tables ${tables} of ${latest}`;
    if (tables > latest) return [problem(NAME, `${whole}: a newer version wrote it`, 'update Trustward')];
    if (tables < latest) {
      const back = '`trustward db backup FILE` first: there is no other way to go back';
      return [warning(NAME, `${whole}: the next start migrates them`, back), ...openToOthers(file)];
    }
    return [...(await contentChecks(config, whole, rules)), ...openToOthers(file), ...(await recordChecks(database))];
  } catch (error) {
    if (isMissing(error, database)) return [ok(NAME, `none yet at ${databaseName(database)}: the first run makes it`)];
    return [failed(NAME, error)];
  }
}

async function recordChecks(database: Database): Promise<Check[]> {
  return [
    ...(await restoredChecks(database)),
    ...(await auditChecks(database).catch((error: unknown) => [failed('audit', error)])),
  ];
}

/** A PostgreSQL database in which no run has made the tables. */
function isMissing(error: unknown, { kind }: Database): boolean {
  return kind === 'postgres' && error instanceof AppError && error.code === 'not_found';
}

function failed(name: string, error: unknown): Check {
  if (!(error instanceof AppError)) throw error;
  const isDamaged = error.code === 'store_damaged' || name !== NAME;
  return problem(name, lineOf(error), `see ${isDamaged ? 'the section on backups of ' : ''}docs/operating.md`);
}

function fileSizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function missing(file: string): Check {
  const folder = existingFolder(dirname(resolve(file)));
  const text = `none yet at ${file}: the first run makes it`;
  return canWrite(folder)
    ? ok(NAME, text)
    : problem(NAME, `${text}, and ${folder} cannot be written`, 'change its owner or mode, or set TRUSTWARD_DB');
}

/** The folder itself, or its nearest existing ancestor. */
function existingFolder(folder: string): string {
  return existsSync(folder) ? folder : existingFolder(dirname(folder));
}

function unwritable(file: string): Check | undefined {
  const closed = [file, dirname(resolve(file))].find((place) => !canWrite(place));
  if (closed === undefined) return undefined;
  return problem(NAME, `${closed} cannot be written by this user`, 'change its owner or mode, or be the daemon’s user');
}

function canWrite(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function openToOthers(file: string): Check[] {
  if ((statSync(file).mode & 0o077) === 0) return [];
  return [
    warning(NAME, `${file} can be read by others, and it names people and devices`, `chmod 600 ${shellWord(file)}`),
  ];
}

async function contentChecks(
  { db, database, api }: Config,
  whole: string,
  rules: readonly LoadedRule[],
): Promise<Check[]> {
  return withReader(composeReader(database), async (reader) => {
    const address = await reader.address();
    if (api && address !== undefined && address !== api.url)
      return [problem(NAME, `${db} belongs to ${address}, not to ${api.url}`, 'set another TRUSTWARD_DB')];
    const stop = await reader.stop();
    return [
      ok(NAME, `${whole}, ${await lastRunText(reader)}`),
      ...(stop ? [warning('stop', stopText(stop), '`trustward resume --reason …` when it is over')] : []),
      ...(await sourceChecks(reader)),
      ...(await givenChecks(database, rules)),
      ...(await signalChecks(reader, rules)),
      ...(await needlessExemptions(reader)),
      ...(await needlessGuards(reader, guardsOf(rules)?.ask ?? [])),
      ...(await inboxChecks(reader)),
    ];
  });
}

const RUNS_BACK = 20;

async function sourceChecks(reader: Pick<RecordReader, 'runsOverLists'>): Promise<Check[]> {
  const latest = (await reader.runsOverLists(RUNS_BACK)).filter(({ findings }) => findings !== undefined);
  return distrustedNow(latest).map(({ run, reading: { reasons } }) => {
    const text = `run ${run.seq} did not trust what it read, and does nothing with that data: ${reasons.map((one) => one.text).join('; ')}`;
    return warning('sources', showHidden(text), 'docs/operating.md, under A source is not trusted');
  });
}

async function signalChecks(
  reader: Pick<RecordReader, 'transmitterStates'>,
  rules: readonly LoadedRule[],
): Promise<Check[]> {
  return (await transmittersNow(reader, rules, systemClock.nowMs())).map(({ name, standing, words }) => {
    const [title, text] = [`transmitter ${name}`, showHidden(words.join('; '))];
    return standing === 'heard'
      ? ok(title, text)
      : warning(title, text, 'docs/signals.md, under When signals are missing');
  });
}

/** A problem of a row is named with its number: a person has to look there. */
async function givenChecks(database: Database, rules: readonly LoadedRule[]): Promise<Check[]> {
  const nowMs = systemClock.nowMs();
  return (await givenReadings(database, rules)).map((reading) => {
    const { source, table, fault } = reading;
    const name = `source ${source.name}`;
    const doubt = doubtOf(reading, nowMs);
    const found = table && givenText(table, nowMs);
    if (doubt !== undefined)
      return problem(
        name,
        showHidden([doubt, found].filter(Boolean).join('; ')),
        'docs/sources.md, under When a source fails',
      );
    const failing = fault ? [`the newest reading failed: ${fault.text}`] : [];
    const text = showHidden([...failing, found].join('; '));
    return fault || (table?.problems.length ?? 0) > 0
      ? warning(name, text, 'docs/sources.md, under When a source fails')
      : ok(name, text);
  });
}

const PROBLEMS_SHOWN = 3;

function givenText({ found: { rows, keyless, wrong }, repeated, atMs, problems }: FactTable, nowMs: number): string {
  const types = Object.entries(wrong).map(([field, count]) => `${count} of another type in ${field}`);
  const left = [
    ...(keyless > 0 ? [`${keyless} without a key`] : []),
    ...(repeated.size > 0 ? [`${countOfWords(repeated.size, 'key')} of several rows`] : []),
    ...types,
  ];
  const some = problems.slice(0, PROBLEMS_SHOWN).join('; ');
  return `${countOfWords(rows, 'row')}, age ${ageText(atMs, nowMs)}${left.length > 0 ? `; left out: ${left.join(', ')} (${some})` : ''}`;
}

/** They may be about a serial number that was given as an id: then nothing is protected. */
async function needlessExemptions(reader: Pick<RecordReader, 'exemptions'> & IdentityReader): Promise<Check[]> {
  const found: Check[] = [];
  for (const exemption of await reader.exemptions(systemClock.nowMs())) {
    const covers = await coveredBy(reader, exemption);
    if (covers?.count !== 0) continue;
    const text = showHidden(`exemption ${exemption.id} of ${aboutText(exemption)} ${coveredText(covers)}`);
    found.push(warning('exemptions', text, '`exempt add` it again by its serial number, or `exempt end` it'));
  }
  return found;
}

/** Of a mistyped value nobody would be asked. */
async function needlessGuards(reader: IdentityReader, guards: readonly Guard[]): Promise<Check[]> {
  const found: Check[] = [];
  for (const guard of guards) {
    if ((await coveredBy(reader, { subject: undefined, selector: guard.selector }))?.count !== 0) continue;
    const text = showHidden(`${GUARDS} asks about ${guardName(guard)}, which nothing known now has`);
    found.push(warning('guards', text, 'correct it, or leave it for whoever is to come'));
  }
  return found;
}

/** A plan or a request that waits is nothing wrong. */
async function inboxChecks(reader: WorkReader): Promise<Check[]> {
  const found = inboxItems({ ...(await reader.inboxCounts()), pending: 0, interrupted: 0, approved: 0, asked: 0 });
  if (found.length === 0) return [];
  return [warning('inbox', found.join(', '), '`trustward inbox` shows each, why, and the command that settles it')];
}

async function lastRunText(reader: Pick<RecordReader, 'latestRun'>): Promise<string> {
  const run = await reader.latestRun();
  return run ? `run ${run.seq} ${run.status} (began ${timeText(run.startedAt)})` : 'no run yet';
}

async function restoredChecks(database: Database): Promise<Check[]> {
  return withReader(composeReader(database), async (reader) => {
    const why = await restoredWhy(database.beside, reader);
    if (why === undefined) return [];
    const text = `this database was restored, or its checkpoints outside were changed (${why}): nothing is called`;
    return [problem('restored', text, WAY_ON)];
  });
}

/** The result of `audit verify` without the head, which only programs need. */
function wholeText(check: AuditCheck): string {
  return auditCheckText(check).replace(`, head ${check.head}`, '').replaceAll('\n', '; ');
}

/** The checkpoints outside against the chain; and the key, without which nothing starts. */
async function auditChecks(database: Database): Promise<Check[]> {
  const name = 'audit';
  const key = privateKeyFileOf(database.beside);
  const check = await composeVerification(database, {});
  const found = check.ok
    ? ok(name, wholeText(check))
    : problem(
        name,
        auditCheckText(check),
        check.tables.length > 0
          ? 'find out who changed it (docs/audit.md), then restore a backup, or keep the rows: `audit accept-tables`'
          : 'see docs/audit.md for causes; after restoring a backup: `audit accept-restore`',
      );
  if (!existsSync(key)) {
    if (check.checkpoints === 0) return [found];
    const advice = 'restore it from your backup, or `trustward audit new-key --reason …`';
    return [found, problem(name, `${key}, which signs checkpoints, is missing: the daemon does not start`, advice)];
  }
  if ((statSync(key).mode & 0o077) === 0) return [found];
  return [
    found,
    problem(name, `${key} can be read by others: the daemon does not start`, `chmod 600 ${shellWord(key)}`),
  ];
}

// `doctor`: the surroundings: the addresses of webhooks, and free space on the disk.

const FREE_BYTES_MIN = 100e6;
const FREE_BYTES_LOW = 1e9;

/** The address that a name resolves to now; nothing is sent there. */
export async function webhookChecks({ notify }: Config): Promise<Check[]> {
  if (notify.webhooks.size === 0) return [ok('webhooks', 'none are set: nobody is notified')];
  return Promise.all([...notify.webhooks.values()].map((webhook) => webhookCheck(webhook, notify)));
}

/** Nothing is sent: a heartbeat that no run sends would hide that none runs. */
export async function heartbeatChecks({ heartbeat }: Config): Promise<Check[]> {
  if (!heartbeat) return [];
  const { url, allowPrivate } = heartbeat;
  try {
    await publicAddressesOf(url.hostname, allowPrivate);
    return [ok('heartbeat', `after each completed whole run to ${url.host}, whose address is allowed`)];
  } catch (error) {
    const advice = 'correct its address; `TRUSTWARD_HEARTBEAT_PRIVATE=yes` permits a receiver in your own network';
    return [problem('heartbeat', lineOf(error), advice)];
  }
}

/** Connects and signs in; nothing is sent. */
export async function mailChecks({ mail }: Config, rules: readonly LoadedRule[] = []): Promise<Check[]> {
  const { smtp, replyTo } = mail;
  if (!smtp) {
    const ids = [...rulesThatWarn(rules)].join(', ');
    const text = `${ids} would warn people, and no mail server is set: what they do waits for a person`;
    return ids === '' ? [] : [warning('mail', text, 'set TRUSTWARD_SMTP_URL and TRUSTWARD_SMTP_FROM')];
  }
  const wrong = await new SmtpMailer({ settings: { ...mail, smtp }, actions: ACTIONS, clock: systemClock }).check(
    new AbortController().signal,
  );
  const advice =
    'correct TRUSTWARD_SMTP_URL, TRUSTWARD_SMTP_TLS or the mail server; until then nobody is warned, and what waits for it waits for a person';
  if (wrong !== undefined) return [problem('mail', `the mail server cannot be used: ${wrong}`, advice)];
  const text = `the mail server takes mail from ${smtp.from.address}${smtp.tls === 'required' ? ', with a verified certificate' : ''}`;
  if (smtp.tls === 'unverified')
    return [
      warning(
        'mail',
        `${text}, and anybody could be that server`,
        'set TRUSTWARD_SMTP_TLS to required, with TRUSTWARD_SMTP_CA for a private certificate',
      ),
    ];
  if (replyTo === undefined)
    return [
      warning(
        'mail',
        `${text}, and names no service desk`,
        'set TRUSTWARD_SMTP_REPLY_TO to the address that answers people',
      ),
    ];
  return [ok('mail', text)];
}

async function webhookCheck(
  { name, url, allowPrivate, chat }: Webhook,
  { alertsTo, publicUrl }: NotifySettings,
): Promise<Check> {
  try {
    const [first, ...more] = await publicAddressesOf(url.hostname, allowPrivate);
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    const alerted = alertsTo.includes(name) ? '; alerts go there' : '';
    const format = chat === undefined ? '' : `; it gets messages for ${chat === 'slack' ? 'Slack' : 'Teams'}`;
    const text = `\`${name}\`: ${url.host} resolves to ${first?.address}${others}, which is allowed${alerted}${format}`;
    if (chat !== undefined && publicUrl === undefined)
      return warning('webhooks', `${text}, without links`, 'set TRUSTWARD_PUBLIC_URL to the address of this Trustward');
    return ok('webhooks', text);
  } catch (error) {
    const advice = 'correct its url, or the name service; `allowPrivate: true` permits a receiver in your own network';
    return problem('webhooks', `\`${name}\`: ${lineOf(error)}`, advice);
  }
}

export function diskCheck({ database }: Config): Check {
  const folder = existingFolder(dirname(resolve(database.beside)));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const size = statSync(database.beside, { throwIfNoEntry: false })?.size ?? 0;
  const text = `${sizeText(free)} free in ${folder}`;
  const advice = 'free some space: on a full disk nothing can be recorded, so nothing is done';
  if (free < FREE_BYTES_MIN) return problem('disk', text, advice);
  if (free < Math.max(FREE_BYTES_LOW, size))
    return warning('disk', `${text}; the database has ${sizeText(size)}`, advice);
  return ok('disk', text);
}

// `doctor`: the Management API: whether it answers, accepts the credential, and lets the active rules' sources be read.

const API_NAME = 'API';
/** A server's `Date` has whole seconds, and the answer takes its time. */
const SKEW_NOTED_MS = 30_000;

const READ_ONE: Record<Source, (client: ManagementClient) => Promise<number | undefined>> = {
  devices: async (client) => (await client.page('devices', 0, 1)).total,
  users: async (client) => (await client.page('users', 0, 1)).total,
  services: async (client) => (await client.listServices()).length,
  events: async (client) => {
    await client.events({ order: 'DESC', limit: 1 });
    return undefined;
  },
};

/** @param rules the active rules. */
export async function apiChecks(config: Config, rules: readonly LoadedRule[]): Promise<Check[]> {
  // Without its database, by the clock of this machine.
  const clock = await composeClock(config.database).catch(() => systemClock);
  const client = composeClient(config, clock);
  if (!client) return [ok(API_NAME, 'the embedded console: `serve` and `run` start it themselves')];
  const read = (['devices', 'users', 'services', 'events'] as const).filter(
    (source) => source === 'devices' || rules.some(({ sources }) => sources.includes(source)),
  );
  const counts: string[] = [];
  const faults: Check[] = [];
  try {
    for (const source of read) {
      const total = await namingApi(config, () => READ_ONE[source](client)).catch((error) => {
        if (!(error instanceof AppError) || /^api_(unreachable|refused)$/.test(error.code)) throw error;
        faults.push(faultOf(source, error, rules));
        return undefined;
      });
      if (total !== undefined) counts.push(`${total} ${source}`);
    }
    return [...answering(config, client.skewMs(), counts), ...faults];
  } catch (error) {
    return [problem(API_NAME, lineOf(error), adviceOn(error))];
  } finally {
    await client.close();
  }
}

function answering(config: Config, skewMs: number | undefined, counts: string[]): Check[] {
  const { timing, database } = config;
  const answers = `it answers and accepts ${credentialName(config)} (${counts.join(', ') || 'nothing counted'})`;
  if (skewMs === undefined) return [ok(API_NAME, `${answers}; it does not send its time`)];
  const side = skewMs > 0 ? 'behind' : 'ahead of';
  const clocks = `${database.kind === 'postgres' ? 'the clock of PostgreSQL' : 'our clock'} is ${formatDuration(Math.abs(skewMs))} ${side} the server's`;
  const correct = 'set that clock right (NTP), or the server’s';
  if (Math.abs(skewMs) > timing.clockSkewMs)
    return [problem(API_NAME, `${answers}; ${clocks}: no source is trusted`, correct)];
  if (Math.abs(skewMs) > SKEW_NOTED_MS) return [warning(API_NAME, `${answers}; ${clocks}`, correct)];
  return [ok(API_NAME, `${answers}; clocks agree`)];
}

function faultOf(source: Source, error: AppError, rules: readonly LoadedRule[]): Check {
  const needing = rules.filter(({ sources }) => sources.includes(source)).map(({ id }) => id);
  if (error.code !== 'api_forbidden') return problem(API_NAME, `${source}: ${error.message}`, adviceOn(error));
  const text = `${source} answers 403; verdicts are always unknown for ${needing.length === 0 ? 'rules that read it' : needing.join(', ')}`;
  return warning(API_NAME, text, `give the credential a scope that reads ${source}; an edition without them has none`);
}

function adviceOn(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'api_refused') return 'make a new API key in the console of the platform, and set it';
  if (code === 'api_unreachable') return 'check the address, the name, the route and a proxy in between';
  return 'check the server: is this address the Management API?';
}

// `doctor`: the rules: whether they load, and whether their own tests pass.

const RULES_NAME = 'rules';

/** Returns the rules too; none when they cannot be loaded. */
export async function rulesChecks(config: Config): Promise<{ checks: Check[]; rules: readonly LoadedRule[] }> {
  try {
    const traits = actionsWith([...config.notify.webhooks.keys()]);
    const { rules } = await loadRuleFolder(config.rulesDir, traits, { signers: config.rulesSigners });
    return {
      checks: [
        ...checksOf(rules, config.rulesDir),
        ...guardChecks(rules),
        ...listsChecks(config, rules),
        ...historyChecksOfRules(config, rules),
      ],
      rules,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const [first = '', ...more] = error.message.split('\n');
    const others = more.length === 0 ? '' : `, and ${countOfWords(more.length, 'more problem')}`;
    const advice = 'correct it; `trustward rules check` lists every problem';
    return { checks: [problem(RULES_NAME, `${first}${others}`, advice)], rules: [] };
  }
}

function guardChecks(rules: readonly LoadedRule[]): Check[] {
  const guards = guardsOf(rules);
  if (!guards) return [];
  const advice =
    'name a serial number or an owner: devices report this field themselves, and one that reports otherwise is not asked about';
  const { signedBy } = guards;
  return [
    ...(signedBy ? [ok(RULES_NAME, `all files are signed by ${signedBy.join(' and ')}`)] : []),
    ...[...guardLines({ ...guards, approvals: undefined }), ...ownerLines(guards.approvals)].map((line) =>
      ok('guards', showHidden(`${GUARDS} ${line}`)),
    ),
    ...(guards.approvals ? approvalLines(guards.approvals) : []).map((line) =>
      ok('approvals', showHidden(`${APPROVALS} ${line}`)),
    ),
    ...guards.ask
      .filter(isForgeable)
      .map((guard) => warning('guards', showHidden(`${GUARDS} asks about ${guardName(guard)}`), advice)),
  ];
}

/** Version 1 has all facts. */
function listsChecks({ lists }: Config, rules: readonly LoadedRule[]): Check[] {
  if (lists === 'v1') return [];
  const name = 'lists';
  const read = ok(name, 'devices and users are read from lists of version 2 (TRUSTWARD_API_LISTS)');
  const advice = 'set TRUSTWARD_API_LISTS=v1 if the server has these lists, or use a rule that does not need it';
  const lost = rulesThatLose(rules).map(({ rule, subject, facts }) =>
    warning(name, lostFactsText(rule, subject, facts), advice),
  );
  return [read, ...lost];
}

function historyChecksOfRules({ historyMs }: Config, rules: readonly LoadedRule[]): Check[] {
  const advice = 'keep the history for longer (TRUSTWARD_HISTORY), or use a rule that does not look back so far';
  return rulesBeyondHistory(rules, historyMs).map(({ rule, subject, facts }) =>
    warning(RULES_NAME, beyondHistoryText(rule, subject, facts, historyMs), advice),
  );
}

function checksOf(rules: readonly LoadedRule[], dir: string): Check[] {
  const report = runRuleTests(rules, { mutate: false });
  const modes = [...MODES]
    .reverse()
    .map((mode) => [mode, rules.filter((rule) => rule.mode === mode).length] as const)
    .flatMap(([mode, count]) => (count === 0 ? [] : [`${count} ${mode}`]));
  const loaded = `${countOfWords(rules.length, 'rule')} in ${dir} (${modes.join(', ')})`;
  if (report.failed > 0) {
    const failing = failingRules(report).map(({ rule }) => rule);
    const text = `${loaded}: ${countOfWords(report.failed, 'test')} of ${failing.join(', ')} failed`;
    return [problem(RULES_NAME, text, '`trustward rules test` shows what was expected')];
  }
  const thin = report.rules.filter((rule) => !rule.ok).map(({ rule }) => rule);
  const passed = ok(RULES_NAME, `${loaded}; ${countOfWords(report.passed, 'test')} passed`);
  if (thin.length === 0) return [passed];
  const text = `the tests of ${thin.join(', ')} would not notice a mistake`;
  return [passed, warning(RULES_NAME, text, '`trustward rules test` shows what is missing')];
}

// `doctor`: the history of what runs saw: how much of it is kept, and whether the newest runs are in it.

const HISTORY_NAME = 'history';
const ADVICE = 'look into the log of the daemon: runs go on without a history, and `replay` has a gap there';

/** Nothing to show before there is a database. */
export async function historyChecks({ database, historyMs }: Config): Promise<Check[]> {
  if (database.kind === 'sqlite' && !existsSync(database.file)) return [];
  if (historyMs === 0) return [ok(HISTORY_NAME, 'off: nothing is recorded, so nothing can be replayed')];
  const kept = `kept for ${formatDuration(historyMs)}`;
  try {
    const folder = historyFolderOf(database.beside);
    const { segments } = listHistory(folder);
    if (existsSync(folder)) {
      accessSync(folder, constants.W_OK | constants.X_OK);
      if ((statSync(folder).mode & 0o077) !== 0)
        return [warning(HISTORY_NAME, `${kept}: others may look into ${folder}`, `\`chmod 700 ${folder}\``)];
    }
    const lastAt = await lastRunAt(database);
    if (segments.length === 0)
      return [
        lastAt === undefined
          ? ok(HISTORY_NAME, `${kept}: nothing yet`)
          : warning(HISTORY_NAME, `${kept}: nothing yet`, ADVICE),
      ];
    const newest = Math.max(...segments.map(({ toMs }) => toMs));
    const size = sizeText(historyBytes(folder));
    const text = `${kept}: ${size}; the newest run in it began at ${timeText(newest)}`;
    return [
      lastAt === undefined || lastAt <= newest
        ? ok(HISTORY_NAME, text)
        : warning(HISTORY_NAME, `${text}, and others since`, ADVICE),
    ];
  } catch (error) {
    // The check of the database has named it.
    if (error instanceof AppError && database.kind === 'postgres') return [];
    return [
      problem(
        HISTORY_NAME,
        `${kept}: ${lineOf(error)}`,
        'correct the owner and mode of the folder beside the database',
      ),
    ];
  }
}

async function lastRunAt(database: Database): Promise<number | undefined> {
  return withReader(composeReader(database), async (reader) => {
    const last = await reader.latestRun();
    return last?.status === 'completed' ? last.startedAt : undefined;
  });
}

const BACKUPS_NAME = 'backups';

/** Nothing to show when they are off, and before there is a database. */
export async function backupChecks({ backup, database }: Config): Promise<Check[]> {
  if (!backup || database.kind === 'postgres' || !existsSync(database.file)) return [];
  const every = `one every ${formatDuration(backup.everyMs)} into ${backup.folder}`;
  const advice = 'start the daemon; its log shows why a backup fails';
  try {
    const nowMs = systemClock.nowMs();
    const last = await newestOf(database, backup.folder, nowMs);
    if (last === undefined) return [warning(BACKUPS_NAME, `${every}: no good one of this database yet`, advice)];
    const text = `${every}: the last good one is ${spanText(nowMs - last.atMs)} old (${last.file})`;
    return [isOverdue(last, backup.everyMs, nowMs) ? problem(BACKUPS_NAME, text, advice) : ok(BACKUPS_NAME, text)];
  } catch (error) {
    return [
      problem(BACKUPS_NAME, `${every}: ${lineOf(error)}`, 'correct its owner or mode, or set TRUSTWARD_BACKUP_DIR'),
    ];
  }
}

async function newestOf(database: SqliteDatabase, folder: string, nowMs: number): Promise<KeptBackup | undefined> {
  return withReader(composeReader(database), async (reader) =>
    new BackupFolder(folder, database.file, (await reader.databaseId()) ?? '').newest(nowMs),
  );
}
