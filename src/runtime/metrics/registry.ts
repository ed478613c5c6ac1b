// metrics: the home of prom-client: the metrics of the definitions, and those of the process. In: counts, times, and the present state for
// each scrape. Out: the text of a scrape. What is not known is absent: it is never 0.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Definition {
  name: string;
  kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence without a full stop. */
  help: string;
  /** INVARIANT: bounded: of the loaded rules, the actions, or a list in the source. Never a target, a person, an address or a text. */
  labels?: readonly string[];
  /** Of a histogram, in seconds. */
  buckets?: readonly number[];
}

/** From a millisecond to a minute. */
const CALL_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From some milliseconds to an hour. */
const WORK_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** Undefined where the metric has none. */
type LabelsOf<D extends Definition> = D extends { labels: readonly (infer L extends string)[] }
  ? Readonly<Record<L, string>>
  : Readonly<Record<never, string>>;

// The Management API, looks at the event log, the endpoint, the queue, the disk.

export const PROCESS = [
  {
    name: 'trustward_build_info',
    kind: 'gauge',
    labels: ['version'],
    help: 'Always 1, with the version of Trustward',
  },
  {
    name: 'trustward_api_requests_total',
    kind: 'counter',
    labels: ['operation', 'answer'],
    help: 'Requests to the Management API, each attempt, by the status of the answer or the cause without one',
  },
  {
    name: 'trustward_api_request_duration_seconds',
    kind: 'histogram',
    labels: ['operation'],
    buckets: CALL_BUCKETS,
    help: 'Time of a request to its last byte; of a list that is read element by element, to the begin of the answer',
  },
  { name: 'trustward_api_retries_total', kind: 'counter', labels: ['operation'], help: 'Reads that were tried again' },
  {
    name: 'trustward_api_clock_skew_seconds',
    kind: 'gauge',
    help: 'Clock of the Management API minus ours, at its last answer; absent before one',
  },
  { name: 'trustward_quiet_period_seconds', kind: 'gauge', help: 'The quiet period in force' },
  { name: 'trustward_watch_interval_seconds', kind: 'gauge', help: 'Time between two looks at the event log; 0: off' },
  {
    name: 'trustward_watch_state',
    kind: 'gauge',
    labels: ['state'],
    help: '1 for the state of watch (looks, rests, fails), 0 for the others; absent when it is off',
  },
  {
    name: 'trustward_watch_last_look_timestamp_seconds',
    kind: 'gauge',
    help: 'When the last look at the event log was made; absent before the first',
  },
  { name: 'trustward_watch_looks_total', kind: 'counter', labels: ['result'], help: 'Looks at the event log' },
  { name: 'trustward_watch_runs_total', kind: 'counter', labels: ['kind'], help: 'Runs that looks made or asked for' },
  { name: 'trustward_watch_events_total', kind: 'counter', help: 'New events that looks found' },
  {
    name: 'trustward_watch_subjects_total',
    kind: 'counter',
    labels: ['result'],
    help: 'Subjects that new events named: all (named), and those that were not found or not readable',
  },
  {
    name: 'trustward_http_requests_total',
    kind: 'counter',
    labels: ['method', 'route', 'status'],
    help: 'Requests that the endpoint answered, by the pattern of the route',
  },
  {
    name: 'trustward_http_request_duration_seconds',
    kind: 'histogram',
    labels: ['route'],
    buckets: CALL_BUCKETS,
    help: 'Time until the endpoint had an answer',
  },
  { name: 'trustward_http_streams', kind: 'gauge', help: 'Open streams of events' },
  { name: 'trustward_queue_waiting', kind: 'gauge', labels: ['lane'], help: 'Work that waits for its turn' },
  {
    name: 'trustward_queue_work_total',
    kind: 'counter',
    labels: ['lane', 'result'],
    help: 'Work by its result: accepted, joined (became equal work that waited), refused, done, failed',
  },
  {
    name: 'trustward_queue_wait_max_seconds',
    kind: 'gauge',
    labels: ['lane'],
    help: 'The longest wait of a lane since the start',
  },
  {
    name: 'trustward_database_bytes',
    kind: 'gauge',
    labels: ['file'],
    help: 'Size of the database and of its write-ahead log',
  },
  {
    name: 'trustward_disk_free_bytes',
    kind: 'gauge',
    help: 'What the file system of the database still takes',
  },
  { name: 'trustward_disk_size_bytes', kind: 'gauge', help: 'Size of the file system of the database' },
] as const satisfies readonly Definition[];

// Runs, and what they read, judge, decide and do.

export const RUNS = [
  {
    name: 'trustward_runs_total',
    kind: 'counter',
    labels: ['mode', 'trigger', 'status'],
    help: 'Runs that ended, completed or aborted',
  },
  {
    name: 'trustward_run_duration_seconds',
    kind: 'histogram',
    labels: ['trigger'],
    buckets: WORK_BUCKETS,
    help: 'Time of a run, from its first record to its last',
  },
  {
    name: 'trustward_run_stage_duration_seconds',
    kind: 'histogram',
    labels: ['stage'],
    buckets: WORK_BUCKETS,
    help: 'Time of a run in one of its stages',
  },
  {
    name: 'trustward_run_started_timestamp_seconds',
    kind: 'gauge',
    help: 'When the run under way began; absent between two runs',
  },
  {
    name: 'trustward_last_run_failed',
    kind: 'gauge',
    help: '1 when the last whole run since the start failed, 0 when it was completed; absent before the first',
  },
  {
    name: 'trustward_last_whole_run_timestamp_seconds',
    kind: 'gauge',
    help: 'When the newest completed run over all active rules ended',
  },
  {
    name: 'trustward_next_run_timestamp_seconds',
    kind: 'gauge',
    help: 'When the schedule makes the next run; absent without one',
  },
  { name: 'trustward_rules', kind: 'gauge', labels: ['mode'], help: 'Loaded rules' },
  {
    name: 'trustward_rules_refused',
    kind: 'gauge',
    help: '1 while the rules folder is refused and the last good set stays active',
  },
  {
    name: 'trustward_organizations',
    kind: 'gauge',
    help: 'Organizations that are worked on; absent in a process of one organization',
  },
  {
    name: 'trustward_organizations_refused',
    kind: 'gauge',
    help: '1 while the folder of organizations is refused and the last good set stays; absent in a process of one organization',
  },
  {
    name: 'trustward_organization_problem',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'At an endpoint or a worker over PostgreSQL: 1 while the credential (kind `credential`), the webhooks (`webhooks`) or the rules (`rules`) of an organization cannot be used; those beyond the first 100 are counted together',
  },
  {
    name: 'trustward_rule_subjects',
    kind: 'gauge',
    labels: ['rule', 'verdict'],
    help: 'Subjects by the verdict of a loaded rule in the last run over lists that judged it',
  },
  {
    name: 'trustward_source_last_trusted_timestamp_seconds',
    kind: 'gauge',
    labels: ['source'],
    help: 'When a source that rules read was last read and trusted; for events, until when the log is known',
  },
  {
    name: 'trustward_source_trusted',
    kind: 'gauge',
    labels: ['source'],
    help: '1 when the last run over lists could use a source that it needed, otherwise 0',
  },
  {
    name: 'trustward_source_records',
    kind: 'gauge',
    labels: ['source'],
    help: 'Records of a source in its last trusted reading',
  },
  {
    name: 'trustward_source_untrusted_total',
    kind: 'counter',
    labels: ['source', 'reason'],
    help: 'Readings that were not trusted, by each reason',
  },
  {
    name: 'trustward_decisions_total',
    kind: 'counter',
    labels: ['rule', 'decision', 'reason'],
    help: 'New and changed decisions',
  },
  { name: 'trustward_claims', kind: 'gauge', labels: ['status'], help: 'Claims in force, standing or orphaned' },
  { name: 'trustward_exemptions', kind: 'gauge', help: 'Exemptions in force' },
  { name: 'trustward_attempts_total', kind: 'counter', labels: ['action'], help: 'Writing requests that were sent' },
  {
    name: 'trustward_outcomes_total',
    kind: 'counter',
    labels: ['action', 'outcome'],
    help: 'Outcomes of intents, also each change of one',
  },
  {
    name: 'trustward_withdrawn_total',
    kind: 'counter',
    labels: ['action', 'reason'],
    help: 'Intents that preflight refused before any call',
  },
  {
    name: 'trustward_plan_changes_total',
    kind: 'counter',
    labels: ['change'],
    help: 'Plans that were sealed, approved, rejected, superseded, applied, interrupted, or that expired',
  },
  {
    name: 'trustward_event_to_act_seconds',
    kind: 'histogram',
    buckets: WORK_BUCKETS,
    help: 'Time from the oldest new event that a look found to each call that it led to',
  },
  {
    name: 'trustward_audit_entries_total',
    kind: 'counter',
    labels: ['family'],
    help: 'Audit entries that were committed',
  },
] as const satisfies readonly Definition[];

// What a person must know first: what may be done, what is stopped, in doubt, parked or waiting, and whether the store
// works.

export const SAFETY = [
  { name: 'trustward_mode', kind: 'gauge', labels: ['mode'], help: '1 for the mode in force, 0 for the others' },
  {
    name: 'trustward_mode_lowered',
    kind: 'gauge',
    help: '1 while the mode in force is lower than the configured one, since the database is doubtful',
  },
  { name: 'trustward_stopped', kind: 'gauge', help: '1 while an operator has stopped everything' },
  {
    name: 'trustward_stopped_timestamp_seconds',
    kind: 'gauge',
    help: 'When everything was stopped; absent while nothing is',
  },
  {
    name: 'trustward_change_window_end_timestamp_seconds',
    kind: 'gauge',
    help: 'When the change window in force ends, until which nothing acts; absent while none is in force',
  },
  { name: 'trustward_store_up', kind: 'gauge', help: '1 while the database can be read and its last write succeeded' },
  {
    name: 'trustward_store_fault',
    kind: 'gauge',
    labels: ['kind'],
    help: '1 for the fault of the database that lasts; absent without one',
  },
  {
    name: 'trustward_store_read_timestamp_seconds',
    kind: 'gauge',
    help: 'When the database was last read for these metrics',
  },
  {
    name: 'trustward_checkpoints_behind',
    kind: 'gauge',
    help: '1 while the checkpoint file outside the database cannot be written',
  },
  {
    name: 'trustward_database_restored',
    kind: 'gauge',
    help: '1 while the database is older than its checkpoints outside, and no operator has accepted that',
  },
  {
    name: 'trustward_history_failing',
    kind: 'gauge',
    help: '1 while runs are not recorded in the history; absent when it is off',
  },
  {
    name: 'trustward_intents',
    kind: 'gauge',
    labels: ['state'],
    help: 'Intents that are planned (not sent yet), in_doubt (sent, result not known) or parked (waiting for a person)',
  },
  {
    name: 'trustward_intents_oldest_timestamp_seconds',
    kind: 'gauge',
    labels: ['state'],
    help: 'When the oldest intent of this state was made; absent without one',
  },
  {
    name: 'trustward_plans',
    kind: 'gauge',
    labels: ['state'],
    help: 'Plans that are pending (waiting for an answer) or approved (not applied yet)',
  },
  {
    name: 'trustward_plans_oldest_timestamp_seconds',
    kind: 'gauge',
    labels: ['state'],
    help: 'When the oldest plan of this state was sealed; absent without one',
  },
  { name: 'trustward_alerts', kind: 'gauge', labels: ['alert'], help: 'Conditions that were alerted and last' },
  {
    name: 'trustward_alerts_raised_total',
    kind: 'counter',
    labels: ['alert'],
    help: 'Conditions that were alerted when they began',
  },
  { name: 'trustward_notifications_waiting', kind: 'gauge', help: 'Notifications that wait for their webhook' },
  {
    name: 'trustward_notifications_oldest_timestamp_seconds',
    kind: 'gauge',
    help: 'When the oldest waiting notification was made; absent without one',
  },
  {
    name: 'trustward_notifications_total',
    kind: 'counter',
    labels: ['result'],
    help: 'Notifications whose delivery ended, delivered or given_up',
  },
] as const satisfies readonly Definition[];

// Jobs and workers, with PostgreSQL.

export const WORKERS = [
  {
    name: 'trustward_jobs_waiting',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'Jobs that wait for a worker, in the database; those of organizations beyond the first 100 are of `(others)`',
  },
  {
    name: 'trustward_jobs_under_way',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'Jobs that workers carry out now, in the database',
  },
  {
    name: 'trustward_jobs_wait_max_seconds',
    kind: 'gauge',
    labels: ['kind'],
    help: 'How long the oldest waiting job of a kind has waited, in the database; 0 when none waits',
  },
  {
    name: 'trustward_jobs_total',
    kind: 'counter',
    labels: ['organization', 'kind', 'result'],
    help: 'Jobs of this worker that ended: done, failed, or broken_off (the right to act was lost, or the worker was stopped)',
  },
  {
    name: 'trustward_job_lag_seconds',
    kind: 'histogram',
    labels: ['kind'],
    buckets: WORK_BUCKETS,
    help: 'Time from when a job was due, or asked for, until this worker began it',
  },
  {
    name: 'trustward_job_duration_seconds',
    kind: 'histogram',
    labels: ['kind'],
    buckets: WORK_BUCKETS,
    help: 'Time of a job at this worker, from its begin to its end',
  },
  {
    name: 'trustward_job_under_way_max_seconds',
    kind: 'gauge',
    help: 'How long the oldest job under way at this worker has taken; 0 when none is',
  },
  {
    name: 'trustward_jobs_fetched_timestamp_seconds',
    kind: 'gauge',
    help: 'When this worker last looked for jobs; now while all of its places are taken',
  },
  {
    name: 'trustward_leases_total',
    kind: 'counter',
    labels: ['change'],
    help: 'Leases of organizations that this worker has taken, lost, or was refused since another process acts',
  },
  {
    name: 'trustward_organizations_failing',
    kind: 'gauge',
    labels: ['organization'],
    help: '1 for an organization whose credential, webhooks or rules cannot be used, or whose last job at this worker failed within an hour; of `(others)`, their number',
  },
] as const satisfies readonly Definition[];

export const DEFINITIONS = [...SAFETY, ...RUNS, ...WORKERS, ...PROCESS] as const;

type Known = (typeof DEFINITIONS)[number];
type Named<K extends Definition['kind']> = Extract<Known, { kind: K }>['name'];
type Labels<N extends Known['name']> = LabelsOf<Extract<Known, { name: N }>>;

/** Counts of prom-client whose names are those of counters, and that are none. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export class Metrics {
  readonly contentType: string;
  private readonly registry = new Registry();
  private readonly gauges = new Map<string, Gauge>();
  private readonly counters = new Map<string, Counter>();
  private readonly histograms = new Map<string, Histogram>();

  constructor() {
    const { registry } = this;
    this.contentType = registry.contentType;
    for (const definition of DEFINITIONS) this.add(definition);
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }

  count<N extends Named<'counter'>>(name: N, labels: Labels<N>, by = 1): void {
    this.counters.get(name)?.inc({ ...labels }, by);
  }

  observe<N extends Named<'histogram'>>(name: N, labels: Labels<N>, seconds: number): void {
    this.histograms.get(name)?.observe({ ...labels }, seconds);
  }

  /** Forgets what a gauge showed: what is not set from now on is absent. */
  clear(...names: Named<'gauge'>[]): void {
    for (const name of names) {
      const gauge = this.gauges.get(name);
      gauge?.reset();
      if (labelsOf(name).length === 0) gauge?.remove();
    }
  }

  /** Undefined makes it absent. */
  set<N extends Named<'gauge'>>(name: N, labels: Labels<N>, value: number | undefined): void {
    const gauge = this.gauges.get(name);
    if (value === undefined) gauge?.remove({ ...labels });
    else gauge?.set({ ...labels }, value);
  }

  /** A counter that something else counts. */
  total<N extends Named<'counter'>>(name: N, labels: Labels<N>, value: number): void {
    const counter = this.counters.get(name);
    counter?.remove({ ...labels });
    counter?.inc({ ...labels }, value);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  /** Name, meaning and kind of all of them, also those of the process. */
  async all(): Promise<{ name: string; help: string; type: string }[]> {
    return (await this.registry.getMetricsAsJSON()).map(({ name, help, type }) => ({ name, help, type: String(type) }));
  }

  private add({ name, kind, help, ...rest }: Definition): void {
    const common = { name, help, labelNames: [...labelsOf(name)], registers: [this.registry] };
    switch (kind) {
      case 'counter':
        this.counters.set(name, new Counter(common));
        break;
      case 'gauge':
        this.gauges.set(name, new Gauge(common));
        this.clear(name as Named<'gauge'>);
        break;
      case 'histogram':
        this.histograms.set(name, new Histogram({ ...common, buckets: [...(rest.buckets ?? [])] }));
    }
  }
}

function labelsOf(name: string): readonly string[] {
  const found: Definition | undefined = DEFINITIONS.find((one) => one.name === name);
  return found?.labels ?? [];
}
