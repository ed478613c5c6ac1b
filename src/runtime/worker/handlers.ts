// worker: what is done for a job: one organization is opened, worked on, and closed again, as a single `run` would. In: a job, the organizations.
// Out: an answer as data. INVARIANT: whatever may call takes the organization's lease first, and releases it at its end.

import { z } from 'zod';
import { DAY_MS, MINUTE_MS, spanText, timeText } from '../../base/time.ts';
import { type AuditEntry, entryBody } from '../../domain/audit-entry.ts';
import { AppError, type ErrorCode, lineOf } from '../../domain/errors.ts';
import { ownText } from '../../domain/facts.ts';
import { guardsOf } from '../../domain/guards.ts';
import {
  JOB_KIND_NAMES,
  JOB_KINDS,
  type Job,
  type JobHandler,
  type JobKind,
  type JobSchedule,
  type Jobs,
  type JobValue,
  type Working,
} from '../../domain/jobs.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { MODES } from '../../domain/rule.ts';
import { RUN_TRIGGERS, type RunRequest, type WatchLook } from '../../domain/run.ts';
import type { AuditReader } from '../../domain/store-ports.ts';
import { runCycle, watchCycle } from '../../engine/cycle.ts';
import type { LooksMemory } from '../../engine/run/pulled-snapshot.ts';
import type { ReadyCheck } from '../../faces/http/deps.ts';
import { type Listening, listenForWorker } from '../../faces/http/listen.ts';
import type { DeskThread } from '../../history/record/desk-thread.ts';
import { type KeptRules, type LastGoodRules, withoutPaths } from '../../rules/active/rule-holder.ts';
import type { KnownRules } from '../../rules/load/read-rule.ts';
import { Asks } from '../../store/postgres/pool.ts';
import { type Composition, composeEngine, wouldFindNothing } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { composeSignals } from '../compose/signals.ts';
import { WorkerMeasuring } from '../metrics/shared-gauges.ts';
import { done, shown } from '../operations/acting.ts';
import { readingOf } from '../operations/performer.ts';
import { organizationsCheck } from '../organizations/load-organizations.ts';
import { nextAfter, timesBetween } from '../schedule/run-queue.ts';
import { Ending, versionOf } from '../system/process.ts';
import { askedFor, keepFault } from './asks.ts';
import {
  jobsCheck,
  jobsOf,
  OrganizationLines,
  type Organizations,
  serverCheck,
  type WorkedOn,
} from './organization-lines.ts';

/** INVARIANT: under the lease, so that no other worker does the same meanwhile. Errors: those of the store. */
async function auditRules({ config, engine, rules }: Composition, kept: KeptRules): Promise<void> {
  const { rulesDir } = config;
  const named = (text: string) => withoutPaths(text, rulesDir);
  const refused = rules.refusal && named(rules.refusal.join('\n'));
  // A set that was in order, and is: another worker that found it refused says itself when it is in order again.
  if (refused === undefined && kept.audited && kept.audited.refused === undefined) return;
  const { store } = engine;
  if (refused !== (await lastRefusal(store))) {
    const kind = refused === undefined ? 'rules.loaded' : 'rules.rejected';
    const signedBy = refused === undefined ? guardsOf(rules.all())?.signedBy : undefined;
    const hash = rules.all().length > 0 ? rules.active().hash : undefined;
    await store.appendAudit([{ kind, body: { rulesDir: named(rulesDir), hash, refused, signedBy } }]);
  }
  kept.audited = { refused };
}

/** Of the last entry about a folder of rules; undefined when it was in order. */
async function lastRefusal(store: Pick<AuditReader, 'audit'>): Promise<string | undefined> {
  const last = async (kind: AuditEntry['kind']) => (await store.audit({ kind, limit: 1 }))[0];
  const [rejected, loaded] = [await last('rules.rejected'), await last('rules.loaded')];
  if (!rejected || (loaded && loaded.seq > rejected.seq)) return undefined;
  return ownText(entryBody(rejected), 'refused');
}

// What this process has under way, and how its jobs ended.

type JobName = Pick<Job, 'organization' | 'kind'>;
type JobResult = 'done' | 'failed' | 'broken_off';

interface JobListener {
  began(job: JobName & { lagMs: number }): void;
  ended(job: JobName & { result: JobResult; ms: number }): void;
}

interface Failure extends JobName {
  /** Epoch ms. */
  at: number;
  code: ErrorCode;
}

/** Another worker may have done the next one: an older failure says nothing of now. */
const COUNTS_MS = 60 * 60_000;

export class WorkWatch {
  private readonly current = new Map<object, JobName & { sinceMs: number }>();
  private readonly failures = new Map<string, Failure>();
  private readonly listeners: JobListener[] = [];

  constructor(private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {}

  on(listener: JobListener): void {
    this.listeners.push(listener);
  }

  watched(handler: JobHandler): JobHandler {
    return async (job) => {
      const { organization, kind } = job;
      const sinceMs = this.clock.monotonicMs();
      this.current.set(job, { organization, kind, sinceMs });
      for (const listener of this.listeners) listener.began({ organization, kind, lagMs: lagOf(job) });
      try {
        const answer = await handler(job);
        this.end(job, 'done');
        return answer;
      } catch (error) {
        this.end(job, isBrokenOff(error) ? 'broken_off' : 'failed', error);
        throw error;
      }
    };
  }

  /** The longest first. */
  underWay(): (JobName & { ms: number })[] {
    const now = this.clock.monotonicMs();
    const all = [...this.current.values()].map(({ sinceMs, ...job }) => ({ ...job, ms: now - sinceMs }));
    return all.sort((one, other) => other.ms - one.ms);
  }

  /** Of the last hour, those that no later job of the same kind here has made good. */
  failing(): readonly Failure[] {
    const now = this.clock.nowMs();
    for (const [key, { at }] of this.failures) if (now - at > COUNTS_MS) this.failures.delete(key);
    return [...this.failures.values()];
  }

  private end(job: Job, result: JobResult, error?: unknown): void {
    const { organization, kind } = job;
    const ms = this.clock.monotonicMs() - (this.current.get(job)?.sinceMs ?? 0);
    this.current.delete(job);
    for (const listener of this.listeners) listener.ended({ organization, kind, result, ms });
    const key = `${organization} ${kind}`;
    if (result === 'done') this.failures.delete(key);
    // What a person asked for is answered to them.
    else if (result === 'failed' && !JOB_KINDS[kind].isAwaited)
      this.failures.set(key, { organization, kind, at: this.clock.nowMs(), code: codeOf(error) });
  }
}

/** It ended as the process does: its right to act was lost, or the process is being stopped. */
function isBrokenOff(error: unknown): boolean {
  return error instanceof AppError && error.code === 'stopped';
}

/** From when it was due: a schedule may be asked late when no worker was there. */
function lagOf({ waitedMs, payload }: Job): number {
  return waitedMs + lateMsIn(payload);
}

function lateMsIn(payload: JobValue): number {
  const late = typeof payload === 'object' && payload !== null && 'lateMs' in payload ? payload.lateMs : 0;
  return typeof late === 'number' ? late : 0;
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof AppError ? error.code : 'internal';
}

interface Worked {
  organizations: Organizations;
  server: PostgresServer;
  /** Absent: whoever runs them looks by itself. */
  jobs?: Pick<Jobs, 'ask'> | undefined;
  recording: DeskThread;
  knownRules: KnownRules;
  lastGood: LastGoodRules;
  ending: Ending;
  log: Log;
}

/** More missed times than this are all the same. */
const MISSED_MOST = 10;

export function handlersOf(worked: Worked, watch: WorkWatch): Record<JobKind, JobHandler> {
  const handlers = workOf(worked);
  return Object.fromEntries(
    JOB_KIND_NAMES.map((kind) => [kind, watch.watched((job) => reported(worked, job, handlers[kind]))]),
  ) as typeof handlers;
}

async function reported(worked: Worked, job: Job, handler: JobHandler): Promise<JobValue> {
  const { organization, kind } = job;
  try {
    return await handler(job);
  } catch (error) {
    // What a person asked for is answered to them, but for what is wrong with files of this machine.
    const { isAwaited } = JOB_KINDS[kind];
    if (isAwaited) await answered(worked, job, error);
    if (!isAwaited || (error instanceof AppError && error.code === 'config'))
      worked.log.error(
        { organization, kind },
        `the job \`${kind}\` of \`${organization}\` failed: ${isLost(error, worked) ? LOST : lineOf(error)}`,
      );
    throw error;
  }
}

async function answered({ server, log }: Worked, job: Job, error: unknown): Promise<void> {
  const { organization, kind } = job;
  await keepFault(new Asks(server.pool, organization), job, error).catch((fault: unknown) =>
    log.error({ organization, kind }, `why the job \`${kind}\` failed could not be answered: ${lineOf(fault)}`),
  );
}

const LOST = 'the right to act was lost while it was under way; the next one begins anew';

/** What is under way ends as if the process did: the two are told apart here. */
function isLost(error: unknown, { ending }: Worked): boolean {
  return isBrokenOff(error) && !ending.asked.aborted;
}

function workOf(worked: Worked): Record<JobKind, JobHandler> {
  const looks = new Map<string, LooksMemory>();
  return {
    run: (job) =>
      acting(worked, job, ({ engine, config }) => whole(engine, { mode: config.mode, trigger: 'schedule' }, job)),
    request: (job) => acting(worked, job, ({ engine }) => whole(engine, REQUESTED.parse(job.payload), job)),
    look: (job) => lookedAt(worked, looks, job),
    operate: (job) =>
      acting(worked, job, async (composition) => {
        const { engine } = composition;
        const { ask } = ASKED.parse(job.payload);
        const asks = new Asks(worked.server.pool, job.organization);
        const { id, input, form, ...who } = await askedFor(asks, ask);
        const what = await done({ engine, appliesAtOnce: true }, id, input, who);
        const reading = readingOf(composition);
        await asks.answer(ask, { form, value: form === 'positional' ? what : await shown(reading, id, what) });
        return null;
      }),
    // Nobody looks between runs as a daemon does. Whoever closes a composition delivers what is due.
    deliver: (job) =>
      opened(worked, job, 'operator', async ({ notifications }) => {
        await notifications.afterwards();
        return null;
      }),
    signals: (job) =>
      opened(worked, job, 'operator', async (composition) => {
        let hasArrived = false;
        const { poller } = composeSignals(composition, () => {
          hasArrived = true;
        });
        await poller.once();
        const { organization } = job;
        if (hasArrived && composition.config.watchMs > 0)
          await worked.jobs?.ask({ organization, kind: 'look', payload: null });
        return null;
      }),
    sources: (job) =>
      opened(worked, job, 'operator', async ({ given, ending, notifications }) => {
        await given.readDue(ending.asked);
        await notifications.afterwards();
        return null;
      }),
    retention: async (job) => {
      await new Asks(worked.server.pool, job.organization).prune();
      return null;
    },
  };
}

type Asked = Pick<RunRequest, 'mode' | 'trigger'>;

/** The payload of `operate`: what was said is kept apart. */
const ASKED = z.object({ ask: z.string() });

/** The payload of `request`. */
const REQUESTED = z.object({
  mode: z.enum(MODES),
  trigger: z.enum(RUN_TRIGGERS),
  rules: z.array(z.string()).optional(),
  waitForDoubts: z.boolean().default(false),
  by: z.string().exactOptional(),
  onceId: z.string().exactOptional(),
});

async function whole(engine: Composition['engine'], asked: Partial<RunRequest> & Asked, job: Job): Promise<JobValue> {
  const request: RunRequest = { rules: undefined, waitForDoubts: false, ...asked };
  const shown: Promise<void>[] = [];
  // Who waits for the run sees it begin, or end: a database that fails here fails the run too, which reports it.
  const run = await runCycle(engine, request, ({ id }) => void shown.push(job.begun({ id }).catch(() => {})));
  await Promise.all(shown);
  const { id, seq, mode } = run;
  engine.log.info({ run: id, seq, mode }, `run ${seq} (${mode}) is done`);
  return { id };
}

/**
 * An organization is opened only where something is new: most looks find nothing. It is opened as long as its looks rest, which what is active
 * may end at any time.
 */
async function lookedAt(worked: Worked, looks: Map<string, LooksMemory>, job: Job): Promise<JobValue> {
  const { organizations, server, ending } = worked;
  const { organization, lost } = job;
  const known = looks.get(organization);
  const isStill = (memory: LooksMemory) =>
    within(ending, lost, (until) => wouldFindNothing(organizations.configOf(organization), server, memory, until));
  if (known && (await isStill(known).catch(() => false))) return { result: 'nothing', run: null };
  const memory = known ?? {};
  looks.set(organization, memory);
  return opened(
    worked,
    job,
    'actor',
    async (composition) => {
      const { result, run } = await looked(composition);
      if (result === 'rest') looks.delete(organization);
      return { result, run };
    },
    memory,
  );
}

/** A look that asks for a whole run makes it at once: it has the organization open, and nobody else acts for it. */
async function looked({
  engine,
  config,
  heartbeat,
  clock,
}: Composition): Promise<{ result: WatchLook['result']; run: number | null }> {
  const { mode, schedule } = config;
  const missedSince = (atMs: number) => timesBetween(schedule, atMs, clock.nowMs(), MISSED_MOST);
  const { result, reason, run } = await watchCycle(engine, { mode, missedSince, mayStartWhole: true });
  if (result !== 'whole') return { result, run: run?.seq ?? null };
  engine.log.info({ reason: reason?.code }, 'watch asks for a whole run');
  const made = await runCycle(engine, { mode, trigger: 'watch', rules: undefined, waitForDoubts: false });
  heartbeat?.beat();
  return { result, run: made.seq };
}

async function acting(
  worked: Worked,
  job: Job,
  work: (composition: Composition) => Promise<JobValue>,
): Promise<JobValue> {
  return opened(worked, job, 'actor', async (composition) => {
    const answer = await work(composition);
    if (job.kind === 'run') composition.heartbeat?.beat();
    return answer;
  });
}

/** INVARIANT: without a good set nothing is judged, undone or carried out; with one, its folder may be refused. Errors: AppError `rules`. */
async function demandRules(composition: Composition): Promise<void> {
  if (composition.keptRules) await auditRules(composition, composition.keptRules);
  composition.engine.active();
}

async function opened(
  { organizations, ending, ...shared }: Worked,
  job: Job,
  part: 'actor' | 'operator',
  work: (composition: Composition) => Promise<JobValue>,
  looks?: LooksMemory,
): Promise<JobValue> {
  const { server, recording, knownRules, lastGood } = shared;
  // Who only delivers calls no API: people learn from it that nothing is done without the credential.
  const config = organizations.configOf(job.organization, part === 'operator' ? ['secrets'] : []);
  const place = { part, server, recording, knownRules, lastGood, ...(looks && { looks }) };
  return within(ending, job.lost, async (until) => {
    const composition = await composeEngine(config, config.mode, [], until, undefined, place);
    try {
      if (part === 'actor') await demandRules(composition);
      return await work(composition);
    } finally {
      await composition.close();
    }
  });
}

/** Ends with the process, and with the job. */
async function within<T>(ofProcess: Ending, lost: AbortSignal, work: (ending: Ending) => Promise<T>): Promise<T> {
  const ending = new Ending(ofProcess.withinMs);
  const end = () => ending.begin();
  const signals = AbortSignal.any([ofProcess.asked, lost]);
  signals.addEventListener('abort', end, { once: true });
  if (signals.aborted) end();
  try {
    return await work(ending);
  } finally {
    signals.removeEventListener('abort', end);
  }
}

// What its `/readyz` shows.

export interface WorkerState {
  server: Pick<PostgresServer, 'pool' | 'health'>;
  jobs: Pick<Jobs, 'counts'>;
  organizations: Pick<Organizations, 'holder'>;
  lines: Pick<OrganizationLines, 'now'>;
  watch: WorkWatch;
  /** Undefined: it has not begun yet. */
  working: Pick<Working, 'fetchedAtMs'> | undefined;
  /** Of the process. */
  ending: AbortSignal;
  /** Organizations at the same time. */
  places: number;
  clock: Clock;
}

/** It looks every three seconds. */
const SILENT_MS = 30_000;
/** A run takes seconds, and minutes with a large fleet or a slow API. */
const LONG_MS = 60 * 60_000;
/** Of what fails and what takes long, so many are named. */
const SHOWN_MAX = 20;

export async function readinessOfWorker(state: WorkerState): Promise<ReadyCheck[]> {
  const { server, jobs, organizations, ending, clock } = state;
  const { holder } = organizations;
  return [
    await serverCheck(server, clock),
    fetchingCheck(state),
    underWayCheck(state),
    await jobsCheck(jobs, clock),
    ...(holder ? [{ ...organizationsCheck(holder), isPartial: true as const }] : []),
    ...organizationChecks(state),
    ...(ending.aborted
      ? [{ name: 'stopping', ok: false, text: 'it takes no more jobs, and ends when those under way have ended' }]
      : []),
  ];
}

function fetchingCheck({ working, ending, clock }: WorkerState): ReadyCheck {
  const name = 'fetching';
  if (ending.aborted) return { name, ok: true, text: 'it is being stopped' };
  if (!working) return { name, ok: false, text: 'it has not begun to look for jobs' };
  const silentMs = clock.nowMs() - working.fetchedAtMs();
  if (silentMs <= SILENT_MS) return { name, ok: true, text: 'it looks for jobs' };
  return { name, ok: false, text: `it has not looked for jobs for ${spanText(silentMs)}; see the log` };
}

/** One that hangs keeps its place; the others go on until all places are taken so. */
function underWayCheck({ watch, places }: WorkerState): ReadyCheck {
  const all = watch.underWay();
  const long = all.filter(({ ms }) => ms > LONG_MS);
  const name = 'under way';
  if (long.length === 0) return { name, ok: true, text: `${all.length} of ${places} at once` };
  const shown = long
    .slice(0, SHOWN_MAX)
    .map(({ organization, kind, ms }) => `\`${kind}\` of \`${organization}\` for ${spanText(ms)}`);
  const text = `${shown.join(', ')}${moreText(long.length)}: look whether its Management API hangs, or stop this worker: another one takes over`;
  return { name, ok: false, text, ...(long.length < places && { isPartial: true as const }) };
}

/** Those that cannot be worked for; the others are. */
function organizationChecks(state: WorkerState): ReadyCheck[] {
  const all = failingOrganizations(state);
  const shown = [...all].slice(0, SHOWN_MAX).map(([id, text]) => ({ name: `organization ${id}`, text }));
  const more = all.size - shown.length;
  const rest = more > 0 ? [{ name: 'more organizations', text: `${more} more have a problem: see the log` }] : [];
  return [...shown, ...rest].map((one) => ({ ...one, ok: false, isPartial: true as const }));
}

/** By id: those that are configured, and what is wrong with each. */
function failingOrganizations({ lines, watch }: Pick<WorkerState, 'lines' | 'watch'>): Map<string, string> {
  const configured = lines.now();
  const known = new Set(configured.map(({ id }) => id));
  const failed = watch.failing().filter(({ organization }) => known.has(organization));
  const found = new Map(
    failed.map(({ organization, kind, at, code }) => [
      organization,
      `\`${kind}\` failed here at ${timeText(at)} (${code}); the log has the reason`,
    ]),
  );
  for (const { id, problem } of configured) if (problem !== undefined) found.set(id, problem);
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function moreText(count: number): string {
  return count > SHOWN_MAX ? ` and ${count - SHOWN_MAX} more` : '';
}

// Its health and its metrics, at a port of its own where one is configured.

interface PortSettings {
  listen: { host: string; port: number };
  allowedHosts: readonly string[];
}

interface PortParts {
  organizations: Organizations;
  server: PostgresServer;
  jobs: Jobs;
  watch: WorkWatch;
  working: () => Working | undefined;
  ending: AbortSignal;
  places: number;
  clock: Clock;
  log: Log;
}

/** Files are looked at when somebody asks, and not more often than this. */
const LOOK_EVERY_MS = 5_000;

/** Errors: AppError `port_busy`, `config`. */
async function openWorkerPort({ listen, allowedHosts }: PortSettings, parts: PortParts): Promise<Listening> {
  const { organizations, server, jobs, watch, working, ending, places, clock, log } = parts;
  const { holder } = organizations;
  // Jobs log themselves what keeps them from being done.
  const lines = new OrganizationLines(organizations, clock, { ...log, error: () => {} });
  let lookedMs = clock.monotonicMs();
  const look = () => {
    if (clock.monotonicMs() - lookedMs < LOOK_EVERY_MS) return;
    lines.look();
    lookedMs = clock.monotonicMs();
  };
  const measuring = new WorkerMeasuring({
    version: versionOf(),
    jobs: () => jobsOf(organizations, jobs, clock),
    organizations: () => holder && { count: organizations.all().length, areRefused: holder.refusal !== undefined },
    problems: () => lines.problems(),
    fault: () => server.health.fault(),
    ids: () => organizations.all().map(({ id }) => id),
    failing: () => [...failingOrganizations({ lines, watch }).keys()],
    longestMs: () => watch.underWay()[0]?.ms ?? 0,
    fetchedAtMs: () => working()?.fetchedAtMs(),
  });
  watch.on(measuring);
  server.leases.watch((change) => measuring.leased(change));
  const readiness = () => {
    look();
    return readinessOfWorker({ server, jobs, organizations, lines, watch, working: working(), ending, places, clock });
  };
  const metrics = {
    contentType: measuring.contentType,
    text: () => {
      look();
      return measuring.text();
    },
  };
  const hosts = { listenHost: listen.host, allowed: allowedHosts };
  const listening = await listenForWorker({ metrics, readiness, log, hosts }, listen);
  log.info({ url: listening.url }, `health and metrics without a token at ${listening.url}`);
  return listening;
}

// A process that works for all organizations, beside any number of its kind on any machines: it keeps their schedules
// and carries out their jobs.

interface WorkerParts extends Omit<Worked, 'jobs'> {
  jobs: Jobs;
  clock: Clock;
  /** Organizations worked on at the same time, and other jobs beside them. */
  concurrency: { lanes: number; beside: number };
  /** Where its health and metrics are; undefined: nowhere. */
  port?: PortSettings | undefined;
}

interface Worker {
  /** Of its health and metrics. */
  url: string | undefined;
  /** Resolves when the process is to end and what was under way has ended; health and metrics are shown until then. */
  ended: Promise<void>;
}

/** Errors: AppError `port_busy`, `config`, `store_failed`. */
export async function startWorker({ jobs, concurrency, port, clock, ...worked }: WorkerParts): Promise<Worker> {
  const { organizations, ending, log, server } = worked;
  const watch = new WorkWatch(clock);
  let working: Working | undefined;
  const places = concurrency.lanes + concurrency.beside;
  const shown = {
    organizations,
    server,
    jobs,
    watch,
    working: () => working,
    ending: ending.asked,
    places,
    clock,
    log,
  };
  const listening = port && (await openWorkerPort(port, shown));
  try {
    const ids = () => new Set(organizations.all().map(({ id }) => id));
    const handlers = handlersOf({ ...worked, jobs }, watch);
    working = await jobs.work({ handlers, concurrency, organizations: ids, signal: ending.asked });
  } catch (error) {
    await listening?.close(0);
    throw error;
  }
  const scheduled = jobs.keepSchedules(() => organizations.all().flatMap(schedulesOf), ending.asked);
  scheduled.catch((error) => log.error({}, `schedules are not kept any longer: ${String(error)}`));
  const ended = Promise.all([working.ended, scheduled, server.untilEnding(ending.asked)]).finally(() =>
    listening?.close(0),
  );
  return { url: listening?.url, ended: ended.then(() => {}) };
}

const TIMES_MOST = 1_000;
/** Polls are short ones: a look follows as soon as there is something. */
const SIGNALS_MS = 10_000;

function schedulesOf({
  id: organization,
  outline: { schedule, watchMs, webhooks, mails, readsSources, asksForSignals },
}: WorkedOn): JobSchedule[] {
  const run: JobSchedule = {
    organization,
    kind: 'run',
    nextMs: (afterMs) => nextAfter(schedule, afterMs),
    timesBetween: (afterMs, untilMs) => timesBetween(schedule, afterMs, untilMs, TIMES_MOST),
  };
  return [
    run,
    ...(watchMs > 0 ? [every(organization, 'look', watchMs)] : []),
    ...(webhooks.length > 0 || mails ? [every(organization, 'deliver', MINUTE_MS)] : []),
    ...(asksForSignals ? [every(organization, 'signals', SIGNALS_MS)] : []),
    ...(readsSources ? [every(organization, 'sources', MINUTE_MS)] : []),
    every(organization, 'retention', DAY_MS),
  ];
}

/** At times that all processes compute alike. */
function every(organization: string, kind: JobSchedule['kind'], ms: number): JobSchedule {
  return {
    organization,
    kind,
    nextMs: (afterMs) => (Math.floor(afterMs / ms) + 1) * ms,
    timesBetween: (afterMs, untilMs) => Math.floor(untilMs / ms) - Math.floor(afterMs / ms),
  };
}
