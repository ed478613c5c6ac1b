// metrics: of a process that answers for several organizations and makes no runs. In: what waits for workers, the organizations, answers. Out:
// Prometheus text. INVARIANT: labels are bounded: so many organizations have a name, and the others are summed.
import type { StoreFault } from '../domain/store-fault.ts';
import { flag } from './present-gauges.ts';
import { Metrics } from './registry.ts';
import { type AnsweredRequest, countAnswered } from './requests.ts';

export const NAMED_MAX = 100;
const OTHERS = '(others)';

/** As the port of jobs counts them. */
interface Waiting {
  organization: string;
  kind: string;
  waiting: number;
  underWay: number;
  waitingMsMax: number;
}

export interface EndpointSources {
  version: string;
  /** Errors: those of reading them. */
  jobs(): Promise<readonly Waiting[]>;
  /** Undefined: the environment configures the one that there is. */
  organizations(): { count: number; areRefused: boolean } | undefined;
  fault(): StoreFault | undefined;
}

export class EndpointMeasuring {
  private readonly metrics = new Metrics();
  private readonly open = new Map<string, number>();

  constructor(private readonly sources: EndpointSources) {
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
    const { metrics, sources } = this;
    const organizations = sources.organizations();
    metrics.set('trustward_organizations', {}, organizations?.count);
    metrics.set('trustward_organizations_refused', {}, organizations && flag(organizations.areRefused));
    metrics.clear('trustward_store_fault', 'trustward_jobs_waiting', 'trustward_jobs_under_way');
    metrics.clear('trustward_jobs_wait_max_seconds');
    const fault = sources.fault();
    if (fault) metrics.set('trustward_store_fault', { kind: fault.kind }, 1);
    const jobs = await sources.jobs().catch(() => undefined);
    metrics.set('trustward_store_up', {}, flag(jobs !== undefined && fault === undefined));
    if (jobs) this.setJobs(jobs);
    return metrics.text();
  }

  private setJobs(jobs: readonly Waiting[]): void {
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
      this.metrics.set('trustward_jobs_waiting', { organization, kind }, waiting);
      this.metrics.set('trustward_jobs_under_way', { organization, kind }, underWay);
    }
    for (const [kind, ms] of oldest) this.metrics.set('trustward_jobs_wait_max_seconds', { kind }, ms / 1_000);
  }
}
