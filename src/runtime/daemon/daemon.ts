// The daemon: an engine with a schedule, looks at the event log, an HTTP endpoint and a watch on the rules folder. In: a composition. Out: a
// handle with its address, to stop it.

import { timeOfDay } from '../../base/time.ts';
import { windowAt } from '../../domain/change-window.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { LANE_NAMES, type Lane } from '../../domain/jobs.ts';
import { lostFactsText } from '../../domain/lists.ts';
import { PEOPLE_PATH } from '../../domain/person-link.ts';
import { type Run, type RunRequest, sameDryRun, type WatchCounters } from '../../domain/run.ts';
import { runCycle, watchCycle } from '../../engine/cycle.ts';
import { createHttpApp } from '../../faces/http/app.ts';
import type { HttpDeps } from '../../faces/http/deps.ts';
import { type Listening, listen, listenForMetrics } from '../../faces/http/listen.ts';
import { withPeople } from '../../faces/http/people.ts';
import { loadOrCreateToken, type TokenRegister } from '../../faces/http/sign-in.ts';
import { createPages } from '../../faces/web/index.ts';
import { peopleApp } from '../../faces/web/pages/mine.tsx';
import { foldersIn, watchFolders } from '../../rules/active/rule-holder.ts';
import { rulesThatLose } from '../../rules/compile/expressions.ts';
import { meaningOf } from '../../store/store-fault.ts';
import type { Composition } from '../compose/compose.ts';
import { composeSignals } from '../compose/signals.ts';
import type { Config } from '../config/config.ts';
import { Measuring } from '../metrics/measuring.ts';
import type { MetricSources } from '../metrics/shared-gauges.ts';
import type { StartedRun } from '../operations/performer.ts';
import { readingOf } from '../operations/performer.ts';
import { type QueueCounters, RunQueue, type Schedule, startSchedule, timesBetween } from '../schedule/run-queue.ts';
import { versionOf } from '../system/process.ts';
import { composedDeps, signInOf, tokenRegister, type WorkPorts } from './http-deps.ts';
import { type Backups, backupsOf, dailyEvidenceOf } from './own-process.ts';
import { alertOfHistory, type LastRun, readiness, Watch } from './readiness.ts';
import { turnsIn, UnderWay } from './under-way.ts';

function reportLists({ config, log, rules }: Pick<Composition, 'config' | 'log' | 'rules'>): void {
  if (config.lists === 'v1') return;
  log.info({ lists: config.lists }, 'devices and users are read from lists of version 2 (TRUSTWARD_API_LISTS)');
  for (const { rule, subject, facts } of rulesThatLose(rules.all()))
    log.warn({ rule, facts }, lostFactsText(rule, subject, facts));
}

// The daemon's part of the metrics: what they ask about the present.

/** Of the daemon's state. */
interface Measured {
  last: LastRun | undefined;
  queue: { counters: QueueCounters; waiting(lane: Lane): number };
  watch: { counters: WatchCounters };
  underWay: Pick<MetricSources, 'onProgress'>;
  schedule: { nextMs(): number | undefined } | undefined;
}

function measuringOf(composition: Composition, state: Measured): Measuring {
  const { config, engine, rules, health, store, clock } = composition;
  return new Measuring({
    version: versionOf(),
    clock,
    store,
    watchCalls: (listener) => engine.api.watchCalls?.(listener),
    onProgress: (listener) => state.underWay.onProgress(listener),
    rules: () => rules.all(),
    now: () => ({
      mode: engine.daemonMode,
      configuredMode: config.mode,
      fault: health.fault(),
      isCheckpointBehind: engine.checkpointer?.fault() !== undefined,
      isRestored: engine.checkpointer?.restored() !== undefined,
      isHistoryFailing: composition.history && composition.history.fault !== undefined,
      frozenUntil: windowAt(config.windows.freeze, clock.nowMs())?.endsAtMs,
      areRulesRefused: rules.refusal !== undefined,
      sourcesRead: new Set([...rules.active().evaluator.needs.sources, ...config.recordedLists]),
      hasLastRunFailed: state.last && state.last.error !== undefined,
      nextRunAt: state.schedule?.nextMs(),
      lanes: LANE_NAMES.map((name) => ({
        name,
        waiting: state.queue.waiting(name),
        counters: state.queue.counters.lanes[name],
      })),
      watch: state.watch.counters,
      skewMs: engine.api.skewMs(),
      quietMs: engine.quiet.read().ms,
    }),
  });
}

/** Undefined without one. Errors: AppError `port_busy`, `config`. */
export async function metricsListener(
  { metricsListen }: Pick<Config, 'metricsListen'>,
  deps: Pick<HttpDeps, 'metrics' | 'log' | 'hosts'>,
): Promise<Listening | undefined> {
  if (!metricsListen) return undefined;
  const listening = await listenForMetrics(deps, metricsListen);
  deps.log.info({ url: listening.url }, `metrics without a token at ${listening.url}/metrics`);
  return listening;
}

export async function peopleListener(
  { people: { listen: at } }: Pick<Config, 'people'>,
  app: Parameters<typeof listen>[0],
  log: HttpDeps['log'],
): Promise<Listening | undefined> {
  if (!at) return undefined;
  const listening = await listen(app, at, {}, OF_PEOPLE);
  log.info({ url: listening.url }, `pages of persons at ${listening.url}${PEOPLE_PATH}`);
  return listening;
}

const OF_PEOPLE = { what: "the listener of persons' pages", name: 'TRUSTWARD_PEOPLE_LISTEN' };

export interface Daemon {
  url: string;
  /** Of the listener of the metrics alone; undefined without one. */
  metricsUrl: string | undefined;
  /** The file of the bearer token, for people. */
  tokenPlace: string;
  /** A link that signs a person of this name in to the page, once, with scope `admin`. It is shown to that person alone. Undefined: there are none. */
  signInLink(name: string): Promise<string | undefined>;
  /** `next run at 10:15:00 UTC`. */
  nextRun(): string;
  stop(): Promise<void>;
}

/** Errors: AppError `port_busy`, `config`, `store_failed`. A first run begins at once. */
export async function startDaemon(composition: Composition): Promise<Daemon> {
  const { config, engine, announce, log, ending } = composition;
  const state = new DaemonState(composition, backupsOf(composition));
  alertOfHistory(composition);
  const token = config.token === undefined ? loadOrCreateToken(config.database.beside) : undefined;
  const tokenPlace = token ? token.file : 'TRUSTWARD_TOKEN';
  const register = await tokenRegister(composition, token?.token ?? (config.token as string));
  const signIn = signInOf(composition, register, () => listening.url);
  const signals = composeSignals(composition, () => state.watch.wake());
  const deps: HttpDeps = {
    ...composedDeps(composition, state.ports(register)),
    signals: signals.receiving,
    ...{ verifyToken: (token) => register.verify(token), signIn, rateLimits: config.rateLimits },
  };
  const at = config.people.listen;
  const hosts = at ? { ...deps.hosts, listenHost: at.host } : deps.hosts;
  const people = peopleApp({ ...deps, hosts }, at !== undefined);
  const app = createHttpApp(deps, createPages(deps));
  const listening = await listen(at ? app : withPeople(app, people), config.listen);
  let metrics: Listening | undefined;
  let alone: Listening | undefined;
  try {
    metrics = await metricsListener(config, deps);
    alone = await peopleListener(config, people, log);
    announce({ pid: process.pid, url: listening.url, rulesDir: engine.rulesDir, apiUrl: config.api?.url ?? null });
  } catch (error) {
    await metrics?.close();
    await alone?.close();
    await listening.close();
    throw error;
  }
  const schedule = startSchedule(config.schedule, () => void state.scheduledRun());
  state.schedule = schedule;
  const notifications = composition.notifications.start(ending.asked);
  // Times that passed while no daemon ran are missed runs: they become one, now.
  void state.scheduledRun();
  const secretFiles = composition.secretFiles.untilEnding(ending.asked);
  const backups = state.backups?.untilEnding(ending.asked);
  const looks = state.watch.untilEnding(ending.asked);
  const sources = composition.given.untilEnding(ending.asked);
  const polls = signals.poller.untilEnding(ending.asked);
  const evidence = dailyEvidenceOf(composition).untilEnding(ending.asked);
  const ruleWatch = watchFolders(
    [...foldersIn(config.rulesDir), ...(config.rulesSigners === undefined ? [] : [config.rulesSigners])],
    engine.clock,
    (ending) => reloadRules(composition, ending),
    (error) => log.error({}, `the rules could not be reloaded: ${lineOf(error)}`),
  );
  reportLists(composition);
  log.info({ url: listening.url, schedule: config.schedule, mode: config.mode }, `listening on ${listening.url}`);
  return {
    url: listening.url,
    metricsUrl: metrics?.url,
    tokenPlace,
    signInLink: async (name) => (signIn.hasLinks ? (await signIn.link({ name, scope: 'admin' })).url : undefined),
    nextRun: () => state.nextRun(),
    stop: async () => {
      schedule.stop();
      ending.begin();
      await Promise.all([
        ending.until('HTTP connections', listening.close(ending.withinMs / 4)),
        metrics?.close(ending.withinMs / 4),
        alone?.close(ending.withinMs / 4),
        ending.until('the work under way', state.queue.stop()),
        ruleWatch.stop(),
        looks,
        ending.until('the polls of signals', polls),
        ending.until('the files of credentials', secretFiles),
        ending.until('the sources of facts', sources),
        ending.until('the backup', backups ?? Promise.resolve()),
        ending.until('the evidence of the rules', evidence),
        ending.until('notifications', notifications),
      ]);
    },
  };
}

/**
 * A good set replaces the active one, a bad one leaves it active; the audit records either, once and beforehand, when
 * something changed. Returns whether the folder could be read in time.
 */
async function reloadRules(composition: Composition, ending: AbortSignal): Promise<boolean> {
  const { config, engine, rules } = composition;
  const { hash: before } = rules.active();
  await rules.reload(({ hash, refused, signedBy }) => {
    const kind = refused === undefined ? 'rules.loaded' : 'rules.rejected';
    return engine.store.appendAudit([{ kind, body: { rulesDir: config.rulesDir, hash, refused, signedBy } }]);
  }, ending);
  if (rules.active().hash !== before) reportLists(composition);
  return !rules.isLate;
}

/** More missed times than this are all the same. */
const MISSED_MOST = 10;

/** The daemon's own state. */
class DaemonState {
  readonly queue: RunQueue;
  /** Undefined before the first. */
  last: LastRun | undefined;
  /** Undefined while the daemon starts. */
  schedule: Schedule | undefined;
  readonly underWay = new UnderWay();
  readonly watch: Watch;
  readonly measuring: Measuring;

  constructor(
    private readonly composition: Composition,
    /** Undefined: it makes none. */
    readonly backups: Backups | undefined,
  ) {
    this.queue = new RunQueue(composition.clock);
    this.watch = this.watchOf(composition);
    composition.engine.progress = this.underWay.following(composition.engine.progress);
    this.measuring = measuringOf(composition, this);
  }

  ports(register: TokenRegister): WorkPorts {
    const { composition, queue, underWay } = this;
    return {
      isDaemon: true,
      trigger: (request) => this.trigger(request),
      turns: turnsIn(queue, { engine: composition.engine, underWay, appliesAtOnce: true }, readingOf(composition)),
      trials: queue,
      underWay,
      readiness: () => readiness(composition, this.last, queue.counters, this.watch, this.backups),
      nextRunAtMs: () => this.schedule?.nextMs(),
      onAudited: (listener) => composition.store.onAudited(listener),
      ending: composition.ending.asked,
      register,
      metrics: this.measuring,
    };
  }

  nextRun(): string {
    const atMs = this.schedule?.nextMs();
    return atMs === undefined ? 'no next run' : `next run at ${timeOfDay(atMs, this.composition.clock.nowMs())}`;
  }

  /** Times that come while one waits become that one. A failing run is reported, and the next one follows. */
  async scheduledRun(): Promise<void> {
    const { engine, log, config } = this.composition;
    const request = { mode: config.mode, trigger: 'schedule', rules: undefined, waitForDoubts: false } as const;
    try {
      const work = () => {
        this.watch.scheduledRunBegins();
        return this.perform(request);
      };
      const { ended, joined } = this.queue.ask('schedule', work, { same: 'schedule' });
      if (!joined) await ended;
    } catch (error) {
      if (!engine.signal.aborted) log.error({}, `a scheduled run failed: ${lineOf(error)}; ${this.nextRun()}`);
    }
  }

  private watchOf({ engine, config: { watchMs, mode, schedule }, clock, log, notifications }: Composition): Watch {
    return new Watch({
      everyMs: watchMs,
      clock,
      log,
      queue: this.queue,
      look: async (request) => {
        try {
          const found = await watchCycle(engine, { mode, ...request }, (run) => this.underWay.begin(run));
          this.measuring.looked(found);
          return found;
        } catch (error) {
          if (meaningOf(error)) await notifications.afterwards();
          throw error;
        } finally {
          this.underWay.end();
        }
      },
      runWhole: () => this.perform({ mode, trigger: 'watch', rules: undefined, waitForDoubts: false }),
      missedSince: (atMs) => timesBetween(schedule, atMs, clock.nowMs(), MISSED_MOST),
    });
  }

  /** Resolves when the run has begun. Equal dry runs that wait become one, in the name of the first who asked. */
  async trigger(request: RunRequest): Promise<StartedRun> {
    const asker = { by: request.by, same: sameDryRun(request) };
    const { began, ended } = this.queue.ask<Run>('request', (begun) => this.perform(request, begun), asker);
    return { run: await Promise.race([began, ended]), finished: ended };
  }

  private async perform(request: RunRequest, begun?: (run: Run) => void): Promise<Run> {
    const { engine, log, notifications } = this.composition;
    try {
      // Nothing else is under way at this point: a run that is still marked so could not be recorded by a failing disk.
      await engine.store.abortStaleRuns(engine.clock.nowMs());
      const run = await runCycle(engine, request, (run) => {
        this.underWay.begin(run);
        begun?.(run);
      });
      this.last = { seq: run.seq, error: undefined };
      if (request.rules === undefined) this.composition.heartbeat?.beat();
      log.info(
        { run: run.id, seq: run.seq, mode: run.mode },
        `run ${run.seq} (${run.mode}) is done; ${this.nextRun()}`,
      );
      return run;
    } catch (error) {
      // A request for an unknown rule reveals nothing about the daemon; a run that could not even be recorded reveals
      // much.
      const isAskersFault = error instanceof AppError && error.code === 'usage';
      if (!isAskersFault) this.last = { seq: undefined, error };
      // A run that could not even begin has no end that would trigger alerts.
      if (meaningOf(error)) await notifications.afterwards();
      throw error;
    } finally {
      this.underWay.end();
    }
  }
}
