// endpoint: one organization, opened to answer: it reads, records what people say, and asks workers for what calls something. In: its
// configuration, the server and the jobs of the process. Out: the ports of its app, and its tokens. INVARIANT: it can send nothing that changes
// anything: its client may not write, whatever asks it to.
import { z } from 'zod';
import { timeText } from '../../base/time.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { AwaitJob, JobState, Jobs, JobValue } from '../../domain/jobs.ts';
import type { Clock } from '../../domain/ports.ts';
import { type Run, sameDryRun } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import type { MetricsPort, ReadyCheck } from '../../faces/http/deps.ts';
import type { OpenedOrganization } from '../../faces/http/organizations/opened.ts';
import { folderNames, foldersIn, watchFolders, withoutPaths } from '../../rules/active/rule-holder.ts';
import type { AuditListener } from '../../store/postgres/lease-statements.ts';
import { Asks, PostgresReplays } from '../../store/postgres/pool.ts';
import { type Composition, composeEngine } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { composeSignals } from '../compose/signals.ts';
import type { Config } from '../config/config.ts';
import type { MayLack } from '../config/name-reader.ts';
import { composedDeps, tokenRegister } from '../daemon/http-deps.ts';
import {
  auditChecks,
  changeWindowChecks,
  databaseCheck,
  rulesCheck,
  sourceChecks,
  stopChecks,
} from '../daemon/readiness.ts';
import { UnderWay } from '../daemon/under-way.ts';
import type { Offering } from '../operations/performer.ts';
import { type OrganizationHolder, organizationsCheck } from '../organizations/load-organizations.ts';
import { nextAfter, overdueAfter, RunQueue } from '../schedule/run-queue.ts';
import type { Ending } from '../system/process.ts';
import { demandDone, turnsByJobs } from '../worker/asks.ts';
import { inTime, jobsCheck, NO_ANSWER, serverCheck } from '../worker/organization-lines.ts';

// A run on demand, asked for here and made by a worker.

interface AskedRuns {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  asks: Pick<Asks, 'faultOf'>;
  /** A job has the id of its run alone. */
  reader: Pick<RecordReader, 'run'>;
  organization: string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** Others may go before it; a run takes minutes at most. */
const BEGUN_WITHIN_MS = 10 * 60_000;
const ENDED_WITHIN_MS = 24 * 60 * 60_000;

export function runsByJobs({ jobs, asks, reader, organization, signal }: AskedRuns): Offering['trigger'] {
  return async (request) => {
    const { id } = await jobs.ask({
      organization,
      kind: 'request',
      payload: JSON.parse(JSON.stringify(request)) as JobValue,
      by: request.by,
      // Repeats of a request with a key are its run, too.
      same: request.onceId === undefined ? sameDryRun(request) : `key ${request.onceId}`,
    });
    const answer = (until: AwaitJob['until'], timeoutMs: number) =>
      jobs.answerOf({ organization, id, until, timeoutMs, signal });
    const state = await answer('begun', BEGUN_WITHIN_MS);
    if (state.kind === 'waiting') throw notBegun();
    if (state.kind !== 'begun') await demandDone(asks, id, state);
    const run = await runIn(reader, state);
    const finished = answer('ended', ENDED_WITHIN_MS).then(async (end) => {
      await demandDone(asks, id, end);
      return runIn(reader, end);
    });
    // Whoever does not wait for its end leaves its failure to the record of the run.
    finished.catch(() => {});
    return { run, finished };
  };
}

/** What a worker shows of a run. */
const BEGUN = z.object({ id: z.string() });

async function runIn(reader: AskedRuns['reader'], state: JobState): Promise<Run> {
  const { id } = BEGUN.parse('value' in state ? state.value : undefined);
  const run = await reader.run(id);
  if (!run) throw new AppError('not_found', `run \`${id}\` was begun, and is no longer in the record`);
  return run;
}

function notBegun(): AppError {
  const text = `no worker has begun the run within ${BEGUN_WITHIN_MS / 60_000} minutes, and it still waits: look at \`/readyz\``;
  return new AppError('busy', text);
}

// Something that is read again when it may have changed.

export class Latest {
  private isReading = false;
  private isAsked = false;
  private isFailing = false;

  /** `failed` receives what a reading throws, once until one succeeds; the next ask reads again. */
  constructor(
    private readonly read: () => Promise<void>,
    private readonly failed: (error: unknown) => void,
  ) {}

  ask(): void {
    this.isAsked = true;
    if (!this.isReading) void this.readAll();
  }

  private async readAll(): Promise<void> {
    this.isReading = true;
    while (this.isAsked) {
      this.isAsked = false;
      await this.readOnce();
    }
    this.isReading = false;
  }

  private async readOnce(): Promise<void> {
    try {
      await this.read();
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.failed(error);
      this.isFailing = true;
    }
  }
}

// What `/readyz` shows of an organization, and of the process that has several. In: the state of the database, what
// waits for workers. Out: checks. INVARIANT: they are public: those of the process name no organization and count none,
// except to who may see all of them.

const ADVICE = 'look whether workers (`trustward worker`) run and log no fault';
/** A run takes seconds, and minutes with a large fleet or a slow API. One whose worker died stays as it is until another worker begins. */
const RUN_MS_MAX = 10 * 60_000;

/** @param lackNamedBy the command that names the credential which cannot be read; undefined: none lacks. */
function readinessOf(
  composition: Composition,
  jobs: Pick<Jobs, 'counts'>,
  lackNamedBy: string | undefined,
): Promise<ReadyCheck[]> {
  const checks = async () => [...credentialChecks(lackNamedBy), ...(await checksOf(composition, jobs))];
  return inTime(checks(), composition.clock).catch(() => [NO_ANSWER]);
}

/** Reading and stopping need none. */
function credentialChecks(lackNamedBy: string | undefined): ReadyCheck[] {
  if (lackNamedBy === undefined) return [];
  const text = `it cannot be read, so workers do nothing here; \`${lackNamedBy}\` names the file`;
  return [{ name: 'credential', ok: false, text, isPartial: true }];
}

async function checksOf(
  { config, engine, rules, health }: Composition,
  jobs: Pick<Jobs, 'counts'>,
): Promise<ReadyCheck[]> {
  const { store } = engine;
  const { organization } = config.database as { organization: string };
  return [
    await databaseCheck(store, health),
    rulesCheck(rules, false),
    await jobsCheck(jobs, engine.clock, organization),
    scheduleCheck(await store.latestRun(), config.schedule, engine.clock.nowMs()),
    ...auditChecks(engine),
    ...(await sourceChecks(store)),
    ...(await stopChecks(store)),
    ...(await changeWindowChecks(store, config.windows.freeze, engine.clock.nowMs())),
    { name: 'mode', ok: true, text: engine.daemonMode },
  ];
}

/** As long as no worker runs, nobody asks for the scheduled runs either: nothing waits, and all the same nothing is judged. */
export function scheduleCheck(
  last: Pick<RunRecord, 'startedAt' | 'status'> | undefined,
  schedule: string,
  nowMs: number,
): ReadyCheck {
  const check = { name: 'schedule', isPartial: true as const };
  if (!last) return { ...check, ok: false, text: `no run has begun yet: a worker makes the first one; ${ADVICE}` };
  const began = `the last run began ${timeText(last.startedAt)}`;
  const overdue = overdueAfter(schedule, last.startedAt, nowMs);
  const isUnderWay = last.status === 'running' && nowMs - last.startedAt <= RUN_MS_MAX;
  if (!overdue || isUnderWay) return { ...check, ok: true, text: `${began}, and none is late` };
  const still = last.status === 'running' ? ' and is still under way' : '';
  return {
    ...check,
    ok: false,
    text: `${began}${still}, and one has been due since ${timeText(overdue.sinceMs)}: ${ADVICE}`,
  };
}

export async function readinessOfProcess(
  server: Parameters<typeof serverCheck>[0],
  jobs: Pick<Jobs, 'counts'>,
  holder: Pick<OrganizationHolder, 'all' | 'refusal'> | undefined,
  clock: Pick<Clock, 'sleep'>,
  isNamed: boolean,
): Promise<ReadyCheck[]> {
  return [
    await serverCheck(server, clock),
    await jobsCheck(jobs, clock),
    ...(holder ? [filesCheck(holder, isNamed)] : []),
  ];
}

function filesCheck(holder: Pick<OrganizationHolder, 'all' | 'refusal'>, isNamed: boolean): ReadyCheck {
  const { ok, text } = organizationsCheck(holder);
  const unnamed = ok
    ? 'in force as they are in the folder'
    : 'the folder was refused, and the last good set stays; `trustward organizations check` and the log have the details';
  return { name: 'organization files', ok, text: isNamed ? text : unnamed, isPartial: true };
}

interface Within {
  server: PostgresServer;
  jobs: Pick<Jobs, 'ask' | 'answerOf' | 'counts'>;
  audits: Pick<AuditListener, 'on'>;
  ending: Ending;
  /** Of this organization. */
  metrics: MetricsPort;
  /** What names the credential that cannot be read; undefined: none is known to lack. */
  lackNamedBy(): string | undefined;
  /** The token of the configuration, where it is this organization's. */
  token: string | undefined;
}

/** Signals that come meanwhile are looked at together. */
const WOKEN_MS = 500;

/** Reading and stopping need neither: what needs them says that they are missing. */
export const WITHOUT: MayLack = ['secrets', 'webhooks'];

/** Without valid rules too: what needs them says what is wrong. Errors: AppError `config`, `store_failed`, `bound_elsewhere`. */
export async function openOrganization(config: Config, within: Within): Promise<OpenedOrganization> {
  const { server, jobs, audits, ending, metrics } = within;
  const organization = organizationOf(config);
  demandApi(config);
  const place = { part: 'endpoint', server } as const;
  const composition = await composeEngine(config, config.mode, [], ending, undefined, place);
  const { engine, clock, log, store } = composition;
  const closing = new AbortController();
  const signal = AbortSignal.any([ending.asked, closing.signal]);
  const register = await tokenRegister(composition, within.token);
  const tokens = new Latest(
    () => register.load(),
    (error) => log.warn({ organization }, `tokens could not be read again: ${lineOf(error)}`),
  );
  const listeners: (() => void)[] = [];
  const wake = () => {
    for (const listener of listeners) listener();
  };
  store.onAudited(wake);
  const { signals } = composition.notifications;
  if (signals) {
    listeners.push(() => signals.poke());
    // Workers push.
    signals.onChanged = () => void jobs.ask({ organization, kind: 'deliver', payload: null }).catch(() => {});
  }
  const off = audits.on(organization, (kinds) => {
    if (!kinds || kinds.has('token')) tokens.ask();
    wake();
  });
  engine.afterwards = () => alerted(composition, jobs, organization);
  const ruleWatch = watchFolders(
    [...foldersIn(config.rulesDir), ...(config.rulesSigners === undefined ? [] : [config.rulesSigners])],
    clock,
    // The audit names the rules that a worker's runs are made with.
    async (over) => {
      await composition.rules.reload(async () => {}, over);
      return !composition.rules.isLate;
    },
    (error) => log.error({ organization }, `the rules could not be reloaded: ${lineOf(error)}`),
  );
  const secretFiles = composition.secretFiles.untilEnding(signal);
  const asks = new Asks(server.pool, organization);
  const woken = new Latest(
    async () => {
      await jobs.ask({ organization, kind: 'look', payload: null, same: 'signals' });
      await clock.sleep(WOKEN_MS, signal).catch(() => {});
    },
    (error) => log.warn({ organization }, `workers could not be asked to look at signals: ${lineOf(error)}`),
  );
  const deps: OpenedOrganization['deps'] = composedDeps(composition, {
    isDaemon: false,
    trigger: runsByJobs({ jobs, asks, reader: engine.store, organization, signal }),
    turns: turnsByJobs({ jobs, asks, organization, newId: () => engine.ids.next(), signal }),
    trials: new RunQueue(clock),
    underWay: new UnderWay(),
    replayKeeper: new PostgresReplays(server.pool, organization),
    readiness: () => readinessOf(composition, jobs, within.lackNamedBy()),
    nextRunAtMs: () => nextAfter(config.schedule, clock.nowMs()),
    onAudited: (listener) => void listeners.push(listener),
    ending: signal,
    register,
    shownRun: namingFolders,
    metrics,
  });
  deps.signals = composeSignals(composition, () => config.watchMs > 0 && woken.ask()).receiving;
  const { rules } = composition;
  deps.ruleRefusal = () => rules.refusal?.map((line) => withoutPaths(line, config.rulesDir));
  return {
    deps,
    verifyHash: (hash) => register.verifyHash(hash),
    append: (notes) => engine.store.appendAudit(notes),
    close: async () => {
      off();
      closing.abort();
      await Promise.all([ruleWatch.stop(), secretFiles]);
      await composition.close();
    },
  };
}

function organizationOf({ database }: Config): string {
  if (database.kind === 'postgres') return database.organization;
  throw new AppError('internal', 'an endpoint of PostgreSQL was given a file');
}

/** Errors: AppError `config`. */
export function demandApi({ api }: Pick<Config, 'api'>): void {
  if (api) return;
  const text = 'the embedded console is of one process, and here several work on one organization';
  throw new AppError(
    'config',
    `configuration: TRUSTWARD_API_URL is not set: ${text}; or use a SQLite file to try things out`,
  );
}

/** A path of the machine on which a worker made the run is of no use to who asks over HTTP. */
function namingFolders(run: RunRecord): RunRecord {
  return { ...run, rulesDir: run.rulesDir && folderNames(run.rulesDir) };
}

/** What needs a person is recorded here, and a worker delivers it. Never rejects. */
async function alerted(
  { config, notifications, log }: Composition,
  jobs: Pick<Jobs, 'ask'>,
  organization: string,
): Promise<void> {
  if (config.notify.webhooks.size === 0) return;
  try {
    await notifications.afterwards();
    await jobs.ask({ organization, kind: 'deliver', payload: null });
  } catch (error) {
    log.error({ organization }, `people could not be alerted: ${lineOf(error)}`);
  }
}
