// Builds the adapters and connects them, as only this folder does. In: a checked configuration. Out: an engine to run.
// `close` closes everything built here.

import { createHmac } from 'node:crypto';
import type { AuditCheck } from '../../domain/audit-entry.ts';
import { freeFrom } from '../../domain/change-window.ts';
import { demandSqlite, isLasting } from '../../domain/database.ts';
import type { AnswerStore, TokenStore } from '../../domain/endpoint-token.ts';
import { lineOf } from '../../domain/errors.ts';
import type { LookBackSource } from '../../domain/look-back.ts';
import type { Alert } from '../../domain/notification.ts';
import { type Clock, type Log, NO_CALLS, type QuietPeriod } from '../../domain/ports.ts';
import type { EventRows } from '../../domain/recorded-history.ts';
import type { Progress } from '../../domain/replay.ts';
import { isLive, leastMode, type Mode } from '../../domain/rule.ts';
import { ACTIONS, actionsWith } from '../../engine/act/actions.ts';
import { auditSourcesOf, restoredWhy, verifyAudit } from '../../engine/audit/sources.ts';
import { PLACEHOLDER_SERIALS } from '../../engine/decide/earlier-answers.ts';
import type { WhyDeps } from '../../engine/explain/why.ts';
import { EVENT_PULL_DEFAULT } from '../../engine/pull/pull-events.ts';
import { demandActive, type Engine, type EngineSettings, isClockRight } from '../../engine/run/engine.ts';
import { isQuiet } from '../../engine/run/look.ts';
import { type LooksMemory, silenceBefore } from '../../engine/run/pulled-snapshot.ts';
import { recordedLookBack } from '../../engine/run/reading-needs.ts';
import type { WhatIfEngine } from '../../engine/run/what-if.ts';
import { views } from '../../faces/report/index.ts';
import { historyFolderOf, listHistory } from '../../history/files/segment-files.ts';
import { DeskThread, ThreadDesk } from '../../history/record/desk-thread.ts';
import type { FolderSettings } from '../../history/record/folder-recording.ts';
import { type RecorderState, RunRecorder } from '../../history/record/run-recorder.ts';
import { ReaderPool } from '../../platform/threads/reader-pool.ts';
import { type KeptRules, RuleHolder, realFolders } from '../../rules/active/rule-holder.ts';
import { type Transmitter, transmitterOf } from '../../signals/transmitter.ts';
import { boundElsewhere, type SqlStore } from '../../store/sql-store.ts';
import type { StoreHealth } from '../../store/sqlite/opened-file.ts';
import { takeWriterLock } from '../../store/sqlite/writer-lock.ts';
import { type Config, pagesWithin } from '../config/config.ts';
import { consoleDatabaseOf, credentialFault, isToken } from '../config/name-reader.ts';
import { Alerts, transmitterAlerts } from '../notify/alerts.ts';
import { DatabaseAlert, Deliveries, type DeliveryLoop, QuietHours } from '../notify/delivery.ts';
import { type FeedState, Feeds } from '../notify/feed.ts';
import { SmtpMailer, smtpServerOf } from '../notify/mail.ts';
import { NoticeDeliveries, type NoticeDeps } from '../notify/notices.ts';
import { Heartbeat, secretFault, type Webhook } from '../notify/settings.ts';
import { timesBetween } from '../schedule/run-queue.ts';
import { bootId, quietTime, steadyTime, systemClock } from '../system/clock.ts';
import { newPrintKey, systemIds, systemRandom } from '../system/ids.ts';
import { systemLog } from '../system/log.ts';
import { Ending, versionOf } from '../system/process.ts';
import { connect } from './connection.ts';
import { composeGiven, type Given } from './given.ts';
import { composeHistory } from './history.ts';
import { Closing, type OpenedDatabase, openForWriting, type Place } from './opened.ts';
import { type People, peopleOf, personLinks } from './people.ts';
import type { PostgresServer } from './postgres.ts';
import { composeClock, composeReader } from './reader.ts';
import { withReader } from './run-reader.ts';
import { type SecretFile, SecretFiles } from './secret-files.ts';

// The credentials of a configuration that came from files: what each file may have, and where a new one is put in
// force.

interface CredentialListeners {
  /** `config.api` has another credential or admin token. */
  api(): void;
  /** The configured token of the HTTP endpoint is another one. */
  token(token: string): void;
}

export function credentialFiles(config: Config, changed: CredentialListeners): SecretFile[] {
  const { api } = config;
  const of = (name: string, one: Omit<SecretFile, 'name' | 'file'>): SecretFile[] => {
    const file = config.secretFiles.get(name);
    return file === undefined ? [] : [{ name: `${name}_FILE`, file, ...one }];
  };
  const credential: Omit<SecretFile, 'name' | 'file'> = {
    current: () => api?.credential.secret ?? '',
    fault: credentialFault,
    take: (secret) => {
      if (api) api.credential = { ...api.credential, secret };
      changed.api();
    },
  };
  const adminToken: Omit<SecretFile, 'name' | 'file'> = {
    current: () => api?.adminToken ?? '',
    fault: credentialFault,
    take: (secret) => {
      if (api) api.adminToken = secret;
      changed.api();
    },
  };
  const token: Omit<SecretFile, 'name' | 'file'> = {
    current: () => config.token ?? '',
    fault: (secret) => (isToken(secret) ? undefined : 'is not a valid token'),
    take: (secret) => {
      config.token = secret;
      changed.token(secret);
    },
  };
  const { smtp } = config.mail;
  const mailServer: Omit<SecretFile, 'name' | 'file'> = {
    current: () => smtp?.url ?? '',
    fault: (secret) => {
      const server = smtpServerOf(secret, smtp?.tls ?? 'required');
      return typeof server === 'string' ? server : undefined;
    },
    take: (secret) => {
      if (smtp) smtp.url = secret;
    },
  };
  return [
    ...of('TRUSTWARD_API_KEY', credential),
    ...of('TRUSTWARD_REFRESH_TOKEN', credential),
    ...of('TRUSTWARD_ADMIN_TOKEN', adminToken),
    ...of('TRUSTWARD_TOKEN', token),
    ...of('TRUSTWARD_SMTP_URL', mailServer),
    ...[...config.notify.webhooks.values()].flatMap(webhookFile),
  ];
}

function webhookFile(webhook: Webhook): SecretFile[] {
  const { name, secretFile } = webhook;
  if (secretFile === undefined) return [];
  const take = (secret: string) => {
    webhook.secret = secret;
  };
  return [
    {
      name: `the secretFile of webhook \`${name}\``,
      file: secretFile,
      current: () => webhook.secret,
      fault: secretFault,
      take,
    },
  ];
}

/** `settled`: waits for what this process is recording. */
function composeLookBack(
  { database, historyMs }: Pick<Config, 'database' | 'historyMs'>,
  address: string,
  settled?: () => Promise<void>,
): LookBackSource | undefined {
  if (historyMs === 0 || database.beside === ':memory:') return undefined;
  return recordedLookBack(composeHistory(database, address), settled);
}

// Notifications, put together: alerts are checked when a run or a plan is over, deliveries run beside.

/** A command that ends waits at most this long for due deliveries; the next process delivers the rest. */
const LAST_ROUND_MS = 5_000;

type Conditions = () => Alert[] | Promise<Alert[]>;

interface Notifications {
  /** Before anything is written. Errors: AppError `store_failed`. */
  begin(): Promise<void>;
  /** Of the webhooks that receive decisions and outcomes. */
  feeds(): Promise<FeedState[]>;
  signals: Transmitter | undefined;
  /** Checks what needs a person now. Never throws. */
  afterwards(): Promise<void>;
  /** Beside a daemon, until `signal` aborts. Never throws. */
  start(signal: AbortSignal): Promise<void>;
  /** From now on these conditions are alerts, too. */
  alsoAlert(conditions: Conditions): void;
  /** Attempts once what is due, for a process that ends; not beyond `cut`. Never throws. */
  deliverDue(cut: AbortSignal): Promise<void>;
}

interface NotificationParts {
  config: Config;
  store: SqlStore;
  health: StoreHealth;
  clock: Clock;
  log: Log;
  /** How people are written to, and whether they may be now. */
  people: Pick<NoticeDeps, 'mailer' | 'links' | 'maySend' | 'freeFrom' | 'cut'>;
}

function composeNotifications(parts: NotificationParts): Notifications {
  const { store, health, clock, log } = parts;
  const { webhooks, alertsTo, silenceMs } = parts.config.notify;
  const publicUrl = pagesWithin(parts.config.notify.publicUrl, parts.config.database);
  // Workers keep the schedule there, and none of their compositions lasts.
  const isShared = parts.config.database.kind === 'postgres';
  const recordedSilenceMs = isShared ? silenceMs : 0;
  const outbox = store.outbox();
  const deliveries = new Deliveries({ outbox, webhooks, clock, random: systemRandom, log, publicUrl });
  const ids = systemIds(clock);
  const common = { ids, clock, random: systemRandom, log };
  const notices = new NoticeDeliveries({ ...parts.people, box: store.noticeBox(), reader: store, ...common });
  const ending = new AbortController();
  const database = new DatabaseAlert({ fault: () => health.fault(), webhooks, ids, clock, log, signal: ending.signal });
  const exemptions = { warnMs: parts.config.timing.exemptionWarnMs, unusedMs: parts.config.timing.exemptionUnusedMs };
  const quietHours = new QuietHours(parts.config.windows.quietHours, clock);
  const feedParts = {
    reader: store,
    positions: store.feedPositions(),
    view: views.liveEvent,
    isShared,
    ...common,
  };
  const feeds = new Feeds(feedParts, webhooks.values());
  store.onAudited(() => feeds.poke());
  store.onAudited(() => signals?.poke());
  const signals = transmitterOf(parts.config, { ...common, store, actions: ACTIONS });
  const others: Conditions[] = [() => feeds.alerts(), () => signals?.alerts() ?? []];
  const beside = async () => (await Promise.all(others.map((conditions) => conditions()))).flat();
  const alerts = new Alerts({
    reader: store,
    outbox,
    ids,
    clock,
    to: alertsTo,
    exemptions,
    database,
    beside,
    quietHours,
    recordedSilenceMs,
  });
  const failed = (error: unknown) => log.error({}, `people could not be alerted: ${lineOf(error)}`);
  return {
    begin: () => feeds.begin().then(() => signals?.begin()),
    feeds: () => feeds.states(),
    signals,
    afterwards: async () => {
      notices.poke();
      await alerts.look().catch(failed);
      deliveries.poke();
    },
    alsoAlert: (conditions) => void others.push(conditions),
    start: async (signal) => {
      signal.addEventListener('abort', () => ending.abort(), { once: true });
      const look = () =>
        alerts.look().then(
          () => deliveries.poke(),
          (error) => failed(error),
        );
      await Promise.all([
        deliveries.run(signal),
        notices.run(signal),
        feeds.run(signal),
        signals?.run(signal),
        alerts.watchSilence(silenceMs, signal, failed),
        quietHours.watch(look, signal),
      ]);
    },
    deliverDue: async (cut) => {
      const limit = AbortSignal.any([cut, AbortSignal.timeout(LAST_ROUND_MS)]);
      const flushed = feeds.flush(limit);
      const rest = async (loop: DeliveryLoop) => {
        while (!limit.aborted && (await loop.round(limit)) === 'more');
      };
      await Promise.all([flushed, signals?.flush(limit), rest(deliveries), rest(notices)]);
    },
  };
}

/** Undefined for the embedded console. */
function credentialMark(api: Config['api']): string | undefined {
  if (api === undefined) return undefined;
  const { url, credential, adminToken = '' } = api;
  const key = JSON.stringify([credential.kind, credential.secret, adminToken]);
  return createHmac('sha256', key).update(`credential of ${url}`).digest('hex').slice(0, 4);
}

// The parts of everything that runs rules: the log, the actions and the loaded rules.

interface Parts {
  rules: RuleHolder;
  /** What it leaves to the next holder of this organization's rules; undefined: there is none. */
  kept: KeptRules | undefined;
  /** Of an engine: everything that needs neither a database, whose clock it has, nor the API. */
  common: Pick<Engine, 'log' | 'actions' | 'active' | 'rulesDir' | 'settings' | 'demo' | 'feed'>;
}

/**
 * `place`: an endpoint, and who keeps the last good rules, begin without valid ones: `active` throws then. Errors: AppError `rules`, `usage` for
 * a chosen rule that is not active. It leaves nothing open.
 */
async function loadParts(config: Config, chosen: readonly string[], place?: Place): Promise<Parts> {
  const { database } = config;
  const organization = database.kind === 'postgres' ? database.organization : undefined;
  const log = systemLog({ ...config.log, organization });
  const webhooks = [...config.notify.webhooks.keys()];
  const actions = actionsWith(webhooks);
  const { part, knownRules, lastGood, looks } = place ?? {};
  const kept =
    organization === undefined
      ? undefined
      : lastGood?.of(organization, [config.rulesDir, config.rulesSigners, webhooks, config.lists]);
  const { rulesDir, rulesSigners, lists } = config;
  const rules = new RuleHolder(rulesDir, actions, log, systemClock, lists, knownRules, kept, rulesSigners);
  if (part === 'endpoint' || kept) await rules.begin();
  else await rules.load();
  if (chosen.length > 0) demandActive(rules.active(), chosen);
  const common: Parts['common'] = {
    log,
    actions,
    active: () => rules.active(),
    rulesDir: realFolders(config.rulesDir),
    settings: settingsOf(config),
    demo: config.api === undefined,
    feed: { primed: new WeakSet(), triedMs: 0, ...(looks && { looks }) },
  };
  return { rules, kept, common };
}

function settingsOf(config: Config): EngineSettings {
  const { timing, ceilings, attemptsMax, runFailuresMax, actConcurrency, serialDevicesMax, perDayTimes } = config;
  const { quietMs, goneAfterMs, planTtlMs, keepRunsMs, eventOverlapMs, clockSkewMs } = timing;
  const mark = markOf(config);
  const hasNoMailer = config.mail.smtp === undefined;
  return {
    decide: {
      ceilings,
      goneAfterMs,
      serialDevicesMax,
      perDayTimes,
      hasNoMailer,
      placeholderSerials: PLACEHOLDER_SERIALS,
      get credential() {
        return mark();
      },
    },
    act: {
      ceilings,
      attemptsMax,
      runFailuresMax,
      concurrency: actConcurrency,
      hasNoMailer,
      rereadMs: Math.min(2_000, quietMs),
      get credential() {
        return mark();
      },
    },
    trust: { ...config.trust, skewMs: clockSkewMs },
    events: { ...EVENT_PULL_DEFAULT, overlapMs: eventOverlapMs },
    lists: config.lists,
    quietMs,
    planTtlMs,
    keepRunsMs,
    exemptions: { warnMs: timing.exemptionWarnMs, unusedMs: timing.exemptionUnusedMs },
    freeze: config.windows.freeze,
  };
}

/** Of the credential in force: another one may be there the next time. It is made once for each. */
function markOf(config: Config): () => string | undefined {
  let made: { of: unknown[]; mark: string | undefined } | undefined;
  return () => {
    const of = [config.api?.credential, config.api?.adminToken];
    if (made?.of.every((one, index) => one === of[index])) return made.mark;
    made = { of, mark: credentialMark(config.api) };
    return made.mark;
  };
}

// Builds the recorder of the history.

function composeRecorder(
  { database, historyMs, recordedLists }: Pick<Config, 'database' | 'historyMs' | 'recordedLists'>,
  of: Pick<FolderSettings, 'address' | 'printKey'>,
  store: EventRows,
  clock: Clock,
  log: Log,
  thread?: DeskThread,
): RunRecorder | undefined {
  if (historyMs === 0 || database.beside === ':memory:') return undefined;
  const folder = historyFolderOf(database.beside);
  const settings = { folder, ...of, program: `trustward ${versionOf()}`, keepMs: historyMs };
  const desk = new ThreadDesk(settings, thread);
  const recorder = new RunRecorder(desk, store, clock, log, recordedLists);
  if (!hasAny(folder)) recorder.beginsAnew();
  return recorder;
}

/** Of a process that opens one database after another: a thread of its own for each would begin, and be warm, anew each time. */
export function sharedRecording(): DeskThread {
  return new DeskThread(true);
}

function hasAny(folder: string): boolean {
  try {
    return listHistory(folder).segments.length > 0;
  } catch {
    return true;
  }
}

/**
 * Whether a look at an organization in PostgreSQL would find nothing new. Neither its rules nor the right to act are taken for that, and nothing
 * is written. Errors: AppError `store_failed`, `api_refused`, `stopped`.
 */
export async function wouldFindNothing(
  config: Config,
  { pool, clock }: PostgresServer,
  looks: LooksMemory,
  ending: Ending,
): Promise<boolean> {
  const { database } = config;
  if (database.kind !== 'postgres' || config.api === undefined) return false;
  const { postgresReader } = await import('../../store/postgres/postgres-store.ts');
  const store = postgresReader(pool, database.organization, clock);
  const { api, end } = await connect(config, clock, systemLog(config.log), ending.cut, { mayWrite: () => false });
  try {
    return await isQuiet({ api, clock, store, settings: settingsOf(config) }, looks);
  } finally {
    await end();
  }
}

export interface Composition {
  config: Config;
  engine: Engine;
  rules: RuleHolder;
  /** What it leaves to the next composition of this organization; undefined: there is none. */
  keptRules: KeptRules | undefined;
  /** For commands beside this process. */
  announce: OpenedDatabase['announce'];
  log: Log;
  clock: Clock;
  /** Once it begins, nothing new does. */
  ending: Ending;
  notifications: Notifications;
  given: Given;
  /** Undefined: none is sent. */
  heartbeat: Heartbeat | undefined;
  /** The state of the database. */
  health: StoreHealth;
  /** The embedded console's address; undefined with a real API. */
  embedded: string | undefined;
  /** For metrics: it is read, and heard of. */
  store: Pick<SqlStore, 'figures' | 'lastFindings' | 'diskUse' | 'onAudited' | 'signalBox'>;
  /** Of the HTTP endpoint. */
  tokens: TokenStore;
  answers: AnswerStore;
  /** Of links to persons' pages, and of these. */
  people: People;
  /** Read again when they change: started beside a daemon. */
  secretFiles: SecretFiles;
  /** Called when the configured token of the HTTP endpoint is another one. */
  onToken(listener: (token: string) => void): void;
  /** Of the recording of the history; undefined: it is off. */
  history: RecorderState | undefined;
  /** Another one after a restore. */
  databaseId: string;
  /** What explaining needs, with the current rules. */
  explaining(): WhyDeps;
  /** `seen`: called with the number of the last entry that was read, now and then. */
  verifyAudit(seen?: (seq: number) => void): Promise<AuditCheck>;
  close(): Promise<void>;
}

/**
 * Everything that acts. In order: rules, lock, database, API; a mistake in an early one leaves no trace in a later one.
 * Errors: AppError `rules`, `usage` for a chosen rule that is not active, `store_locked`, `store_failed`, `bound_elsewhere`.
 */
export async function composeEngine(
  config: Config,
  daemonMode: Mode = config.mode,
  chosen: readonly string[] = [],
  ending = new Ending(),
  progress?: Progress,
  place: Place = { part: 'actor' },
): Promise<Composition> {
  const { rules, kept, common } = await loadParts(config, chosen, place);
  const { log } = common;
  const closing = new Closing();
  try {
    const { quietMs } = config.timing;
    const opened = await openForWriting(config.database, {
      ...place,
      clock: place.past?.clock ?? systemClock,
      log,
      quietMs,
      signal: ending.asked,
    });
    const [{ store, health, lease, clock, watched }, isActor] = [opened, place.part === 'actor'];
    closing.add(opened.close);
    // What is under way ends when the right to act has been lost: nothing more can be sent or committed.
    lease?.lost.addEventListener('abort', () => ending.begin());
    const binding = place.past?.binding ?? bindingOf(config);
    await refuseOtherAddress(store, binding);
    const checkpointer = await opened.openCheckpoints();
    closing.add(() => checkpointer.publish());
    let maySend = () => false;
    const { database, mail } = config;
    const { smtp } = mail;
    const mailer = smtp && new SmtpMailer({ settings: { ...mail, smtp }, actions: common.actions, clock });
    const people = peopleOf({ store, clock, database, base: config.people.base, rules: () => rules.all() });
    const freeOf = (id: string, atMs: number) => {
      const allowed = rules.all().find((rule) => rule.id === id)?.whenAllowed;
      return freeFrom({ freeze: config.windows.freeze, allowed }, atMs);
    };
    const writing = { maySend: () => maySend(), mailer, links: personLinks(people), freeFrom: freeOf, cut: ending.cut };
    const notifications = composeNotifications({ config, store, health, clock, log, people: writing });
    if (place.part !== 'endpoint') {
      closing.add(() => ending.until('the last notifications', notifications.deliverDue(ending.cut)));
      await notifications.begin();
    }
    const given = composeGiven(config, () => rules.all(), { clock, log });
    notifications.alsoAlert(given.alerts);
    notifications.alsoAlert(() => transmitterAlerts(store, rules.all(), clock.nowMs()));
    const beats = isActor ? config.heartbeat : undefined;
    const heartbeat = beats && new Heartbeat({ destination: beats, clock, log });
    if (heartbeat) closing.add(() => ending.until('the last heartbeat', endOfHeartbeat(heartbeat, ending)));
    const onTokens: ((token: string) => void)[] = [];
    const secretFiles = new SecretFiles({
      files: credentialFiles(config, {
        api: () => connection.replaceCredentials(),
        token: (token) => {
          for (const listener of onTokens) listener(token);
        },
      }),
      append: (notes) => store.appendAudit(notes),
      clock,
      log,
    });
    const connection = await connect(config, clock, log, ending.cut, {
      askForAnother: () => secretFiles.lookAtOnce(),
      // INVARIANT: who does not act can send nothing that changes anything.
      mayWrite: isActor ? lease && (() => lease.mayWrite()) : () => false,
      lead: place.past?.lead,
    });
    const { api, embedded, end } = connection;
    closing.add(() => ending.until('calls of the Management API', end()));
    const readers = new ReaderPool(log, place.isOnce);
    closing.add(() => readers.close());
    const printKey = isActor ? await store.keepPrintKey(newPrintKey()) : ((await store.printKey()) ?? newPrintKey());
    const history = isActor
      ? composeRecorder(config, { address: binding, printKey }, store, clock, log, place.recording)
      : undefined;
    if (history) closing.add(() => ending.until('the history', history.close()));
    if (history) lease?.lost.addEventListener('abort', () => void history.cut());
    const isWrong = () => !isClockRight({ api, settings: common.settings });
    const steady = steadyTime(clock, bootId(), await store.clockAgreement(), isWrong, watched?.());
    if (isActor) await store.keepClockAgreement(steady.agreement());
    const silence = silenceBefore(await store.lastCompletedAt(), clock.nowMs());
    const engine: Engine = {
      ...common,
      clock,
      ids: systemIds(clock),
      api,
      silence,
      store,
      checkpointer,
      steady,
      quiet: quietTime(config.timing.quietMs, api, steady, await store.keptLatency()),
      // A restored database has lost what was done since, a damaged one may hold what never happened, and a replaced one keeps
      // nothing: nothing is changed until an operator has checked.
      get daemonMode() {
        const fault = health.fault();
        const isDoubtful = checkpointer.restored() !== undefined || (fault !== undefined && isLasting(fault));
        return isDoubtful ? leastMode(daemonMode, 'dry-run') : daemonMode;
      },
      printKey,
      bindTo: binding,
      signal: ending.asked,
      progress,
      readers,
      missedSince: (atMs) => timesBetween(config.schedule, atMs, clock.nowMs(), 10),
      lookBack: composeLookBack(config, binding, async () => history?.settledSoon()),
      given: given.gate,
      history,
      afterwards: () => notifications.afterwards(),
    };
    maySend = () => isLive(engine.daemonMode);
    if (isActor) await store.abortStaleRuns(clock.nowMs());
    return {
      config,
      engine,
      rules,
      keptRules: kept,
      announce: opened.announce,
      log,
      clock,
      ending,
      embedded,
      notifications,
      heartbeat,
      given,
      health,
      store,
      tokens: store.tokens(),
      answers: store.keptAnswers(),
      people,
      secretFiles,
      onToken: (listener) => void onTokens.push(listener),
      databaseId: (await store.databaseId()) ?? '',
      explaining: () => explainingWith(engine, store, rules),
      history: history?.state,
      verifyAudit: (seen) => verifyAudit(auditSourcesOf(config.database.beside, store, clock, { seen })),
      close: closing.close,
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

function explainingWith(engine: Engine, reader: SqlStore, rules: RuleHolder): WhyDeps {
  const { api, clock, ids, actions, quiet, settings, daemonMode, lookBack, given } = engine;
  const common = { api, clock, ids, actions, quiet, settings, daemonMode, lookBack, given };
  return { ...common, reader, rules: rules.all(), isWhatIf: false };
}

/** As the last process left it, for a look without one. Errors: AppError `not_found` without a database, `store_failed`. */
export async function composeQuietPeriod({ database, timing }: Config): Promise<QuietPeriod> {
  const clock = await composeClock(database);
  return withReader(composeReader(database), async (reader) => {
    const steady = steadyTime(clock, bootId(), await reader.clockAgreement());
    const idle = { latency: () => NO_CALLS, unansweredMs: () => 0 };
    return quietTime(timing.quietMs, idle, steady, await reader.keptLatency()).read();
  });
}

/** A process that ends waits at most this long for its last heartbeat. */
const LAST_HEARTBEAT_MS = 5_000;

function endOfHeartbeat(heartbeat: Heartbeat, { cut }: Ending): Promise<void> {
  return heartbeat.end(AbortSignal.any([cut, AbortSignal.timeout(LAST_HEARTBEAT_MS)]));
}

/** What the database is bound to: the API's address, or the embedded console's database (its port changes). */
export function bindingOf(config: Config): string {
  return config.api ? config.api.url : `the embedded console (${consoleDatabaseOf(config.database)})`;
}

async function refuseOtherAddress(store: SqlStore, address: string): Promise<void> {
  if ((await store.address()) !== undefined) await store.bind(address);
}

// Builds what a read-only view needs, over other rules than the active set or of one subject: rules, the API, and the
// database for reading.

interface WhatIfComposition {
  engine: WhatIfEngine;
  /** Which rules are active, the caller knows. */
  explaining(): Omit<WhyDeps, 'isWhatIf'>;
  /** Aborting it ends the reading. */
  stopping: AbortController;
  close(): Promise<void>;
}

/**
 * Errors: AppError `rules`, `usage` for a chosen rule that is not among them, `not_found` without a database,
 * `store_failed`, `bound_elsewhere`; `store_locked` when a daemon or another command holds the embedded console.
 */
export async function composeWhatIf(
  config: Config,
  chosen: readonly string[] = [],
  progress?: Progress,
): Promise<WhatIfComposition> {
  const { rules, common } = await loadParts(config, chosen);
  const { log } = common;
  const clock = await composeClock(config.database);
  const closing = new Closing();
  try {
    const reader = await composeReader(config.database);
    closing.add(() => reader.close());
    const bound = await reader.address();
    if (bound !== undefined && bound !== bindingOf(config)) throw boundElsewhere(config.db, bound, bindingOf(config));
    const isRestored = (await restoredWhy(config.database.beside, reader)) !== undefined;
    if (config.api === undefined) {
      // The holder of the lock has started the embedded console; a second one would take its key away.
      const lock = takeWriterLock(demandSqlite(config.database, 'give a SQLite file').file);
      closing.add(() => lock.release());
    }
    const stopping = new AbortController();
    const { api, end } = await connect(config, clock, log, stopping.signal);
    closing.add(end);
    const isWrong = () => !isClockRight({ api, settings: common.settings });
    const steady = steadyTime(clock, bootId(), await reader.clockAgreement(), isWrong);
    const engine: WhatIfEngine = {
      ...common,
      clock,
      ids: systemIds(clock),
      api,
      reader,
      printKey: (await reader.printKey()) ?? newPrintKey(),
      steady,
      lookBack: composeLookBack(config, bindingOf(config)),
      given: composeGiven(config, () => rules.all(), { clock, log }).gate,
      quiet: quietTime(config.timing.quietMs, api, steady, await reader.keptLatency()),
      // The cap of a run over a database that has lost what was done since.
      daemonMode: isRestored ? 'dry-run' : (config.modeCap ?? 'enforce'),
      signal: stopping.signal,
      progress,
    };
    const explaining = () => ({ ...engine, reader, rules: rules.all() });
    return { engine, explaining, stopping, close: closing.close };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
