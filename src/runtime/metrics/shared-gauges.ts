// metrics: what each process on PostgreSQL shows of all of them: the organizations, the database, the jobs in it. In: what a scrape asks for. Out:
// gauges. INVARIANT: labels are bounded: so many organizations have a name, and the others are summed.
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { StoreFault } from '../../domain/database.ts';
import type { LaneCounters } from '../../domain/jobs.ts';
import { LEASE_CHANGES, type LeaseChange } from '../../domain/lease.ts';
import type { ApiListener, Clock } from '../../domain/ports.ts';
import type { WorkProgress } from '../../domain/replay.ts';
import { MODES, type Mode } from '../../domain/rule.ts';
import type { WatchCounters } from '../../domain/run.ts';
import type { DiskUse, LastFindings, StoreFigures } from '../../domain/store.ts';
import type { Source } from '../../domain/subjects.ts';
import { Metrics } from './registry.ts';

export const NAMED_MAX = 100;
const OTHERS = '(others)';

class NamedOrganizations {
  private readonly named = new Set<string>();

  /** `all`: those that are configured now. Of them the first by id have a name, so that processes name the same ones. */
  labelOf(organization: string, all: readonly string[]): string {
    if (this.named.has(organization)) return organization;
    if (this.named.size >= NAMED_MAX) return OTHERS;
    const before = all.filter((id) => id < organization).length;
    if (before >= NAMED_MAX) return OTHERS;
    this.named.add(organization);
    return organization;
  }
}

// What a scrape asks about the present: the ports that the daemon fills in.

export interface MetricSources {
  version: string;
  clock: Clock;
  /** Errors: those of reading the store. */
  store: {
    figures(): Promise<StoreFigures>;
    lastFindings(): Promise<LastFindings | undefined>;
    diskUse(): Promise<DiskUse>;
    onAudited(listener: (notes: readonly AuditNote[]) => void): void;
  };
  watchCalls(listener: ApiListener): void;
  onProgress(listener: (progress: WorkProgress | undefined) => void): void;
  /** All loaded rules, in the same list until they are loaded again. */
  rules(): readonly { id: string; mode: Mode }[];
  now(): PresentState;
}

/** What is known without asking anybody. */
export interface PresentState {
  mode: Mode;
  configuredMode: Mode;
  fault: StoreFault | undefined;
  isCheckpointBehind: boolean;
  isRestored: boolean;
  /** Undefined: the history is off. */
  isHistoryFailing: boolean | undefined;
  /** The end of the change window in force. */
  frozenUntil: number | undefined;
  areRulesRefused: boolean;
  /** Undefined in a process that works on one organization alone. */
  organizations?: { count: number; areRefused: boolean } | undefined;
  /** That active rules read. */
  sourcesRead: ReadonlySet<Source>;
  /** Undefined before the first whole run. */
  hasLastRunFailed: boolean | undefined;
  nextRunAt: number | undefined;
  lanes: { name: string; waiting: number; counters: LaneCounters }[];
  watch: WatchCounters;
  skewMs: number | undefined;
  quietMs: number;
}

// The present state of the process as gauges, set anew for each scrape.

export function setPresent(metrics: Metrics, now: PresentState, rules: ReturnType<MetricSources['rules']>): void {
  for (const mode of MODES) {
    const loaded = rules.filter((rule) => rule.mode === mode).length;
    metrics.set('trustward_rules', { mode }, loaded);
    metrics.set('trustward_mode', { mode }, flag(mode === now.mode));
  }
  metrics.set('trustward_mode_lowered', {}, flag(now.mode !== now.configuredMode));
  metrics.set('trustward_rules_refused', {}, flag(now.areRulesRefused));
  const { organizations } = now;
  metrics.set('trustward_organizations', {}, organizations?.count);
  metrics.set('trustward_organizations_refused', {}, organizations && flag(organizations.areRefused));
  metrics.clear('trustward_store_fault');
  if (now.fault) metrics.set('trustward_store_fault', { kind: now.fault.kind }, 1);
  metrics.set('trustward_checkpoints_behind', {}, flag(now.isCheckpointBehind));
  metrics.set('trustward_database_restored', {}, flag(now.isRestored));
  const { isHistoryFailing: gap } = now;
  metrics.set('trustward_history_failing', {}, gap === undefined ? undefined : flag(gap));
  metrics.set('trustward_change_window_end_timestamp_seconds', {}, seconds(now.frozenUntil));
  const { hasLastRunFailed: failed } = now;
  metrics.set('trustward_last_run_failed', {}, failed === undefined ? undefined : flag(failed));
  metrics.set('trustward_next_run_timestamp_seconds', {}, seconds(now.nextRunAt));
  metrics.set('trustward_api_clock_skew_seconds', {}, seconds(now.skewMs));
  metrics.set('trustward_quiet_period_seconds', {}, now.quietMs / 1_000);
  for (const { name, waiting, counters } of now.lanes) setLane(metrics, name, waiting, counters);
  setWatch(metrics, now.watch);
}

function setLane(metrics: Metrics, lane: string, waiting: number, counters: LaneCounters): void {
  metrics.set('trustward_queue_waiting', { lane }, waiting);
  metrics.set('trustward_queue_wait_max_seconds', { lane }, counters.waitMsMax / 1_000);
  for (const result of ['accepted', 'joined', 'refused', 'done', 'failed'] as const)
    metrics.total('trustward_queue_work_total', { lane, result }, counters[result]);
}

function setWatch(metrics: Metrics, watch: WatchCounters): void {
  metrics.set('trustward_watch_interval_seconds', {}, watch.everyMs / 1_000);
  metrics.set('trustward_watch_last_look_timestamp_seconds', {}, seconds(watch.lastLookAt));
  for (const state of ['looks', 'rests', 'fails'])
    metrics.set('trustward_watch_state', { state }, watch.everyMs === 0 ? undefined : flag(state === watch.state.kind));
  metrics.total('trustward_watch_looks_total', { result: 'done' }, watch.looks);
  metrics.total('trustward_watch_looks_total', { result: 'failed' }, watch.failed);
  metrics.total('trustward_watch_runs_total', { kind: 'look' }, watch.runs);
  metrics.total('trustward_watch_runs_total', { kind: 'whole' }, watch.wholeRuns);
  metrics.total('trustward_watch_events_total', {}, watch.events);
  metrics.total('trustward_watch_subjects_total', { result: 'named' }, watch.named);
  metrics.total('trustward_watch_subjects_total', { result: 'not_found' }, watch.strangers);
  metrics.total('trustward_watch_subjects_total', { result: 'not_readable' }, watch.unread);
}

export function flag(is: boolean): number {
  return is ? 1 : 0;
}

export function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

/** As the port of jobs counts them. */
interface Waiting {
  organization: string;
  kind: string;
  waiting: number;
  underWay: number;
  waitingMsMax: number;
}

interface Problem {
  organization: string;
  kind: string;
}

interface SharedSources {
  version: string;
  /** Errors: those of reading them. */
  jobs(): Promise<readonly Waiting[]>;
  /** Undefined: the environment configures the one that there is. */
  organizations(): { count: number; areRefused: boolean } | undefined;
  /** Organizations that cannot be worked on, or not wholly. */
  problems(): readonly Problem[];
  fault(): StoreFault | undefined;
}

async function setShared(metrics: Metrics, sources: SharedSources): Promise<void> {
  const organizations = sources.organizations();
  metrics.set('trustward_organizations', {}, organizations?.count);
  metrics.set('trustward_organizations_refused', {}, organizations && flag(organizations.areRefused));
  setProblems(metrics, sources.problems());
  metrics.clear('trustward_store_fault', 'trustward_jobs_waiting', 'trustward_jobs_under_way');
  metrics.clear('trustward_jobs_wait_max_seconds');
  const fault = sources.fault();
  if (fault) metrics.set('trustward_store_fault', { kind: fault.kind }, 1);
  const jobs = await sources.jobs().catch(() => undefined);
  metrics.set('trustward_store_up', {}, flag(jobs !== undefined && fault === undefined));
  if (jobs) setJobs(metrics, jobs);
}

function setProblems(metrics: Metrics, problems: readonly Problem[]): void {
  metrics.clear('trustward_organization_problem');
  const named = new Set([...new Set(problems.map(({ organization }) => organization))].sort().slice(0, NAMED_MAX));
  const sums = new Map<string, Problem & { count: number }>();
  for (const { organization: of, kind } of problems) {
    const organization = named.has(of) ? of : OTHERS;
    const key = `${organization} ${kind}`;
    sums.set(key, { organization, kind, count: (sums.get(key)?.count ?? 0) + 1 });
  }
  for (const { organization, kind, count } of sums.values())
    metrics.set('trustward_organization_problem', { organization, kind }, count);
}

function setJobs(metrics: Metrics, jobs: readonly Waiting[]): void {
  const named = new Set([...new Set(jobs.map(({ organization }) => organization))].sort().slice(0, NAMED_MAX));
  const sums = new Map<string, { organization: string; kind: string; waiting: number; underWay: number }>();
  const oldest = new Map<string, number>();
  for (const { organization: of, kind, waiting, underWay, waitingMsMax } of jobs) {
    const organization = named.has(of) ? of : OTHERS;
    const key = `${organization} ${kind}`;
    const sum = sums.get(key) ?? { organization, kind, waiting: 0, underWay: 0 };
    sums.set(key, { ...sum, waiting: sum.waiting + waiting, underWay: sum.underWay + underWay });
    oldest.set(kind, Math.max(oldest.get(kind) ?? 0, waitingMsMax));
  }
  for (const { organization, kind, waiting, underWay } of sums.values()) {
    metrics.set('trustward_jobs_waiting', { organization, kind }, waiting);
    metrics.set('trustward_jobs_under_way', { organization, kind }, underWay);
  }
  for (const [kind, ms] of oldest) metrics.set('trustward_jobs_wait_max_seconds', { kind }, ms / 1_000);
}

/** One answered request of the endpoint. */
export interface AnsweredRequest {
  method: string;
  /** The pattern of the route; undefined when none matched. */
  route: string | undefined;
  status: number;
  ms: number;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function countAnswered(metrics: Metrics, { method, route = '(none)', status, ms }: AnsweredRequest): void {
  const known = METHODS.has(method) ? method : '(other)';
  metrics.count('trustward_http_requests_total', { method: known, route, status: String(status) });
  metrics.observe('trustward_http_request_duration_seconds', { route }, ms / 1_000);
}

// Of a process that answers for several organizations and makes no runs.

export class EndpointMeasuring {
  private readonly metrics = new Metrics();
  private readonly open = new Map<string, number>();

  constructor(private readonly sources: SharedSources) {
    this.metrics.set('trustward_build_info', { version: sources.version }, 1);
    this.streams('', 0);
  }

  get contentType(): string {
    return this.metrics.contentType;
  }

  answered(request: AnsweredRequest): void {
    countAnswered(this.metrics, request);
  }

  /** Of one organization. */
  streams(organization: string, open: number): void {
    if (open === 0) this.open.delete(organization);
    else this.open.set(organization, open);
    const all = [...this.open.values()].reduce((sum, one) => sum + one, 0);
    this.metrics.set('trustward_http_streams', {}, all);
  }

  async text(): Promise<string> {
    await setShared(this.metrics, this.sources);
    return this.metrics.text();
  }
}

// Of a worker: its jobs, its leases, the organizations that it cannot work for. In: what begins and ends. Out: Prometheus text.
// INVARIANT: labels are bounded, and nothing rests on what is counted here.

interface WorkerSources extends SharedSources {
  /** Those that are configured now, by id. */
  ids(): readonly string[];
  /** Of the ids, those that cannot be worked for. */
  failing(): readonly string[];
  longestMs(): number;
  /** Undefined before it works. */
  fetchedAtMs(): number | undefined;
}

interface EndedJob {
  organization: string;
  kind: string;
  result: 'done' | 'failed' | 'broken_off';
  ms: number;
}

export class WorkerMeasuring {
  private readonly metrics = new Metrics();
  private readonly named = new NamedOrganizations();

  constructor(private readonly sources: WorkerSources) {
    this.metrics.set('trustward_build_info', { version: sources.version }, 1);
    // A counter that appears with its first count shows no increase.
    for (const change of LEASE_CHANGES) this.metrics.count('trustward_leases_total', { change }, 0);
  }

  get contentType(): string {
    return this.metrics.contentType;
  }

  began({ organization, kind, lagMs }: { organization: string; kind: string; lagMs: number }): void {
    this.metrics.observe('trustward_job_lag_seconds', { kind }, lagMs / 1_000);
    for (const result of ['done', 'failed', 'broken_off']) this.count(organization, kind, result, 0);
  }

  ended({ organization, kind, result, ms }: EndedJob): void {
    this.metrics.observe('trustward_job_duration_seconds', { kind }, ms / 1_000);
    this.count(organization, kind, result, 1);
  }

  leased(change: LeaseChange): void {
    this.metrics.count('trustward_leases_total', { change });
  }

  async text(): Promise<string> {
    const { metrics, sources } = this;
    const fetched = sources.fetchedAtMs();
    metrics.set('trustward_jobs_fetched_timestamp_seconds', {}, fetched && fetched / 1_000);
    metrics.set('trustward_job_under_way_max_seconds', {}, sources.longestMs() / 1_000);
    metrics.clear('trustward_organizations_failing');
    const failing = [...sources.failing()].sort();
    for (const organization of failing.slice(0, NAMED_MAX))
      metrics.set('trustward_organizations_failing', { organization }, 1);
    const more = failing.length - NAMED_MAX;
    if (more > 0) metrics.set('trustward_organizations_failing', { organization: OTHERS }, more);
    await setShared(metrics, sources);
    return metrics.text();
  }

  private count(of: string, kind: string, result: string, by: number): void {
    const organization = this.named.labelOf(of, this.sources.ids());
    this.metrics.count('trustward_jobs_total', { organization, kind, result }, by);
  }
}
