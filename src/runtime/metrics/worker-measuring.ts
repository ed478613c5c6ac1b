// metrics: of a worker: its jobs, its leases, the organizations that it cannot work for. In: what begins and ends. Out: Prometheus text.
// INVARIANT: labels are bounded, and nothing rests on what is counted here.
import { LEASE_CHANGES, type LeaseChange } from '../../domain/lease.ts';
import { Metrics } from './registry.ts';
import { NAMED_MAX, NamedOrganizations, OTHERS, type SharedSources, setShared } from './shared-gauges.ts';

export interface WorkerSources extends SharedSources {
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
