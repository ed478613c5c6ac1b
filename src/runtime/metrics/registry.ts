// metrics: the home of prom-client: the metrics of the definitions, and those of the process. In: counts, times, and the present state for
// each scrape. Out: the text of a scrape. What is not known is absent: it is never 0.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

type Kind = 'counter' | 'gauge' | 'histogram';

export interface Definition {
  name: string;
  kind: Kind;
  help: string;
  labels: readonly string[];
}

/** From a millisecond to a minute. */
const CALL_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From some milliseconds to an hour. */
const WORK_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** A kind, a name and the labels, as `gauge name{one,other}`. */
type DefinitionOf<Row extends string> = Row extends `${infer K extends Kind} ${infer N}{${infer L}}`
  ? { name: N; kind: K; help: string; labels: readonly Split<L>[] }
  : Row extends `${infer K extends Kind} ${infer N}`
    ? { name: N; kind: K; help: string; labels: readonly never[] }
    : never;
type Split<L extends string> = L extends `${infer First},${infer Rest}` ? First | Split<Rest> : L;

/**
 * Each with its meaning: one sentence without a full stop. INVARIANT: labels are bounded: of the loaded rules, the actions, or a list in the source.
 * Never a target, a person, an address or a text.
 */
function definitionsOf<const Row extends string>(rows: Record<Row, string>): readonly DefinitionOf<Row>[] {
  return Object.entries<string>(rows).map(([row, help]) => {
    const [, kind, name, labels] = /^(\w+) (\w+)(?:\{(.*)\})?$/.exec(row) as string[];
    return { name, kind, help, labels: labels?.split(',') ?? [] } as unknown as DefinitionOf<Row>;
  });
}

// The Management API, looks at the event log, the endpoint, the queue, the disk.

export const PROCESS = definitionsOf({
  'gauge trustward_build_info{version}': 'Always 1, with the version of Trustward',
  'counter trustward_api_requests_total{operation,answer}':
    'Requests to the Management API, each attempt, by the status of the answer or the cause without one',
  'histogram trustward_api_request_duration_seconds{operation}':
    'Time of a request to its last byte; of a list that is read element by element, to the begin of the answer',
  'counter trustward_api_retries_total{operation}': 'Reads that were tried again',
  'gauge trustward_api_clock_skew_seconds':
    'Clock of the Management API minus ours, at its last answer; absent before one',
  'gauge trustward_quiet_period_seconds': 'The quiet period in force',
  'gauge trustward_watch_interval_seconds': 'Time between two readings of the event log; 0: off',
  'gauge trustward_watch_state{state}':
    '1 for the state of watch (looks, rests, fails), 0 for the others; absent when it is off',
  'gauge trustward_watch_last_look_timestamp_seconds':
    'When the event log was last read between runs; absent before the first time',
  'counter trustward_watch_looks_total{result}': 'Readings of the event log between runs',
  'counter trustward_watch_runs_total{kind}': 'Runs that looks made or asked for',
  'counter trustward_watch_events_total': 'New events that looks found',
  'counter trustward_watch_subjects_total{result}':
    'Subjects that new events named: all (named), and those that were not found or not readable',
  'counter trustward_http_requests_total{method,route,status}':
    'Requests that the endpoint answered, by the pattern of the route',
  'histogram trustward_http_request_duration_seconds{route}': 'Time until the endpoint had an answer',
  'gauge trustward_http_streams': 'Open streams of events',
  'gauge trustward_queue_waiting{lane}': 'Work that waits for its turn',
  'counter trustward_queue_work_total{lane,result}':
    'Work by its result: accepted, joined (became equal work that waited), refused, done, failed',
  'gauge trustward_queue_wait_max_seconds{lane}': 'The longest wait of a lane since the start',
  'gauge trustward_database_bytes{file}': 'Size of the database and of its write-ahead log',
  'gauge trustward_disk_free_bytes': 'What the file system of the database still takes',
  'gauge trustward_disk_size_bytes': 'Size of the file system of the database',
});

// Runs, and what they read, judge, decide and do.

export const RUNS = definitionsOf({
  'counter trustward_runs_total{mode,trigger,status}': 'Runs that ended, completed or aborted',
  'histogram trustward_run_duration_seconds{trigger}': 'Time of a run, from its first record to its last',
  'histogram trustward_run_stage_duration_seconds{stage}': 'Time of a run in one of its stages',
  'gauge trustward_run_started_timestamp_seconds': 'When the run under way began; absent between two runs',
  'gauge trustward_last_run_failed':
    '1 when the last whole run since the start failed, 0 when it was completed; absent before the first',
  'gauge trustward_last_whole_run_timestamp_seconds': 'When the newest completed run over all active rules ended',
  'gauge trustward_next_run_timestamp_seconds': 'When the schedule makes the next run; absent without one',
  'gauge trustward_rules{mode}': 'Loaded rules',
  'gauge trustward_rules_refused': '1 while the rules folder is refused and the last good set stays active',
  'gauge trustward_organizations': 'Organizations that are worked on; absent in a process of one organization',
  'gauge trustward_organizations_refused':
    '1 while the folder of organizations is refused and the last good set stays; absent in a process of one organization',
  'gauge trustward_organization_problem{organization,kind}':
    'At an endpoint or a worker over PostgreSQL: 1 while the credential (kind `credential`), the webhooks (`webhooks`) or the rules (`rules`) of an organization cannot be used; those beyond the first 100 are counted together',
  'gauge trustward_rule_subjects{rule,verdict}':
    'Subjects by the verdict of a loaded rule in the last run over lists that judged it',
  'gauge trustward_source_last_trusted_timestamp_seconds{source}':
    'When a source that rules read was last read and trusted; for events, until when the log is known',
  'gauge trustward_source_trusted{source}':
    '1 when the last run over lists could use a source that it needed, otherwise 0',
  'gauge trustward_source_records{source}': 'Records of a source in its last trusted reading',
  'counter trustward_source_untrusted_total{source,reason}': 'Readings that were not trusted, by each reason',
  'gauge trustward_signals{transmitter,result}':
    'Signals (SETs) of a transmitter since the database began, by result: accepted, of these unknown (about nobody known); repeated, or refused for this reason',
  'gauge trustward_transmitter_contact_timestamp_seconds{transmitter}': 'When a transmitter was last heard of',
  'gauge trustward_transmitter_known_timestamp_seconds{transmitter}':
    'Until when no signal of a transmitter is missing; absent while nothing proves it',
  'counter trustward_decisions_total{rule,decision,reason}': 'New and changed decisions',
  'gauge trustward_claims{status}': 'Actions in force: their rule stands, or is missing or off',
  'gauge trustward_exemptions': 'Exemptions in force',
  'counter trustward_attempts_total{action}': 'Writing requests that were sent',
  'counter trustward_outcomes_total{action,outcome}': 'Outcomes of actions, also each change of one',
  'counter trustward_withdrawn_total{action,reason}': 'Actions that preflight refused before any call',
  'counter trustward_plan_changes_total{change}':
    'Plans that were sealed, carried on, approved, rejected, superseded, applied, interrupted, or that expired',
  'histogram trustward_event_to_act_seconds':
    'Time from the oldest new event that a reading found to each call that it led to',
  'counter trustward_audit_entries_total{family}': 'Audit entries that were committed',
});

// What a person must know first: what may be done, what is stopped, in doubt, parked or waiting, and whether the store
// works.

export const SAFETY = definitionsOf({
  'gauge trustward_mode{mode}': '1 for the mode in force, 0 for the others',
  'gauge trustward_mode_lowered':
    '1 while the mode in force is lower than the configured one, since the database is doubtful',
  'gauge trustward_stopped': '1 while an operator has stopped everything',
  'gauge trustward_stopped_timestamp_seconds': 'When everything was stopped; absent while nothing is',
  'gauge trustward_change_window_end_timestamp_seconds':
    'When the change window in force ends, until which nothing acts; absent while none is in force',
  'gauge trustward_store_up': '1 while the database can be read and its last write succeeded',
  'gauge trustward_store_fault{kind}': '1 for the fault of the database that lasts; absent without one',
  'gauge trustward_store_read_timestamp_seconds': 'When the database was last read for these metrics',
  'gauge trustward_checkpoints_behind': '1 while the checkpoint file outside the database cannot be written',
  'gauge trustward_database_restored':
    '1 while the database is older than its checkpoints outside, and no operator has accepted that',
  'gauge trustward_history_failing': '1 while runs are not recorded in the history; absent when it is off',
  'gauge trustward_intents{state}':
    'Actions that are planned (not sent yet), in_doubt (sent, result not known) or parked (waiting for a person)',
  'gauge trustward_intents_oldest_timestamp_seconds{state}':
    'When the oldest action of this state was made; absent without one',
  'gauge trustward_plans{state}': 'Plans that are pending (waiting for an answer) or approved (not applied yet)',
  'gauge trustward_plans_oldest_timestamp_seconds{state}':
    'When the oldest plan of this state was sealed; absent without one',
  'gauge trustward_alerts{alert}': 'Conditions that were alerted and last',
  'counter trustward_alerts_raised_total{alert}': 'Conditions that were alerted when they began',
  'gauge trustward_notifications_waiting': 'Notifications that wait for their webhook',
  'gauge trustward_notifications_oldest_timestamp_seconds':
    'When the oldest waiting notification was made; absent without one',
  'counter trustward_notifications_total{result}': 'Notifications whose delivery ended, delivered or given_up',
});

// Jobs and workers, with PostgreSQL.

export const WORKERS = definitionsOf({
  'gauge trustward_jobs_waiting{organization,kind}':
    'Jobs that wait for a worker, in the database; those of organizations beyond the first 100 are of `(others)`',
  'gauge trustward_jobs_under_way{organization,kind}': 'Jobs that workers carry out now, in the database',
  'gauge trustward_jobs_wait_max_seconds{kind}':
    'How long the oldest waiting job of a kind has waited, in the database; 0 when none waits',
  'counter trustward_jobs_total{organization,kind,result}':
    'Jobs of this worker that ended: done, failed, or broken_off (the right to act was lost, or the worker was stopped)',
  'histogram trustward_job_lag_seconds{kind}': 'Time from when a job was due, or asked for, until this worker began it',
  'histogram trustward_job_duration_seconds{kind}': 'Time of a job at this worker, from its begin to its end',
  'gauge trustward_job_under_way_max_seconds':
    'How long the oldest job under way at this worker has taken; 0 when none is',
  'gauge trustward_jobs_fetched_timestamp_seconds':
    'When this worker last looked for jobs; now while all of its places are taken',
  'counter trustward_leases_total{change}':
    'Leases of organizations that this worker has taken, lost, or was refused since another process acts',
  'gauge trustward_organizations_failing{organization}':
    '1 for an organization whose credential, webhooks or rules cannot be used, or whose last job at this worker failed within an hour; of `(others)`, their number',
});

export const DEFINITIONS = [...SAFETY, ...RUNS, ...WORKERS, ...PROCESS];

type Known = (typeof DEFINITIONS)[number];
type Named<K extends Definition['kind']> = Extract<Known, { kind: K }>['name'];
type Labels<N extends Known['name']> = Readonly<Record<Extract<Known, { name: N }>['labels'][number], string>>;

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
      if (DEFINITIONS.find((one) => one.name === name)?.labels.length === 0) gauge?.remove();
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

  private add({ name, kind, help, labels }: Definition): void {
    const common = { name, help, labelNames: [...labels], registers: [this.registry] };
    switch (kind) {
      case 'counter':
        this.counters.set(name, new Counter(common));
        break;
      case 'gauge':
        this.gauges.set(name, new Gauge(common));
        this.clear(name as Named<'gauge'>);
        break;
      case 'histogram':
        this.histograms.set(
          name,
          new Histogram({ ...common, buckets: /_request_/.test(name) ? CALL_BUCKETS : WORK_BUCKETS }),
        );
    }
  }
}
