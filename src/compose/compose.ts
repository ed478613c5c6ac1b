// Builds the adapters and connects them, as only this folder does. In: a checked configuration. Out: an engine to run.
// `close` closes everything built here.
import { auditSourcesOf } from '../audit/sources.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { Config } from '../config/config.ts';
import { consoleDatabaseOf } from '../config/database.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import type { TokenStore } from '../domain/endpoint-token.ts';
import type { AnswerStore } from '../domain/kept-answer.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { Progress } from '../domain/progress.ts';
import { NO_CALLS, type QuietPeriod } from '../domain/quiet-period.ts';
import { isLasting } from '../domain/store-fault.ts';
import type { WhyDeps } from '../explain/why.ts';
import type { RecorderState } from '../history/record/run-recorder.ts';
import { Heartbeat } from '../notify/heartbeat.ts';
import type { KeptRules } from '../rule-set/last-good-rules.ts';
import type { RuleHolder } from '../rule-set/rule-holder.ts';
import type { Engine } from '../run/engine.ts';
import { silenceBefore } from '../run/silence.ts';
import type { SqlStore } from '../store/sql-store.ts';
import type { StoreHealth } from '../store/store-health.ts';
import { bootId, systemClock } from '../system/clock.ts';
import { Ending } from '../system/ending.ts';
import { systemIds } from '../system/ids.ts';
import { quietTime } from '../system/quiet-time.ts';
import { newPrintKey } from '../system/secrets.ts';
import { steadyTime } from '../system/steady-time.ts';
import { ReaderPool } from '../threads/reader-pool.ts';
import { Closing } from './closing.ts';
import { connect } from './connection.ts';
import { credentialFiles } from './credentials.ts';
import { composeLookBack } from './look-back.ts';
import { composeNotifications, type Notifications } from './notifications.ts';
import { type OpenedDatabase, openForWriting, type Place } from './opened.ts';
import { loadParts } from './parts.ts';
import { composeClock, composeReader } from './reader.ts';
import { composeRecorder } from './recorder.ts';
import { SecretFiles } from './secret-files.ts';
import { withReader } from './with-reader.ts';

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
  /** Undefined: none is sent. */
  heartbeat: Heartbeat | undefined;
  /** The state of the database. */
  health: StoreHealth;
  /** The embedded console's address; undefined with a real API. */
  embedded: string | undefined;
  /** For metrics: it is read, and heard of. */
  store: Pick<SqlStore, 'figures' | 'lastFindings' | 'diskUse' | 'onAudited'>;
  /** Of the HTTP endpoint. */
  tokens: TokenStore;
  answers: AnswerStore;
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
      clock: systemClock,
      log,
      quietMs,
      signal: ending.asked,
    });
    const [{ store, health, lease, clock, watched }, isActor] = [opened, place.part === 'actor'];
    closing.add(opened.close);
    // What is under way ends when the right to act has been lost: nothing more can be sent or committed.
    lease?.lost.addEventListener('abort', () => ending.begin());
    const binding = bindingOf(config);
    await refuseOtherAddress(store, binding);
    const checkpointer = await opened.openCheckpoints();
    closing.add(() => checkpointer.publish());
    const notifications = composeNotifications({ config, store, health, clock, log });
    if (place.part !== 'endpoint') {
      closing.add(() => ending.until('the last notifications', notifications.deliverDue(ending.cut)));
      await notifications.begin();
    }
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
    });
    const { api, embedded, end } = connection;
    closing.add(() => ending.until('calls of the Management API', end()));
    const readers = new ReaderPool(log);
    closing.add(() => readers.close());
    const printKey = isActor ? await store.keepPrintKey(newPrintKey()) : ((await store.printKey()) ?? newPrintKey());
    const history = isActor
      ? composeRecorder(config, { address: binding, printKey }, store, clock, log, place.recording)
      : undefined;
    if (history) closing.add(() => ending.until('the history', history.close()));
    if (history) lease?.lost.addEventListener('abort', () => void history.cut());
    const steady = steadyTime(clock, bootId(), await store.clockAgreement(), watched?.());
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
      lookBack: composeLookBack(config, binding, async () => history?.settledSoon()),
      history,
      afterwards: () => notifications.afterwards(),
    };
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
      health,
      store,
      tokens: store.tokens(),
      answers: store.keptAnswers(),
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
  const { api, clock, ids, actions, quiet, settings, daemonMode, lookBack } = engine;
  const common = { api, clock, ids, actions, quiet, settings, daemonMode, lookBack };
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
