// metrics: what each process on PostgreSQL shows of all of them: the organizations, the database, the jobs in it. In: what a scrape asks for. Out:
// gauges. INVARIANT: labels are bounded: so many organizations have a name, and the others are summed.
import type { StoreFault } from '../domain/store-fault.ts';
import { NAMED_MAX, OTHERS } from './named-organizations.ts';
import { flag } from './present-gauges.ts';
import type { Metrics } from './registry.ts';

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

export interface SharedSources {
  version: string;
  /** Errors: those of reading them. */
  jobs(): Promise<readonly Waiting[]>;
  /** Undefined: the environment configures the one that there is. */
  organizations(): { count: number; areRefused: boolean } | undefined;
  /** Organizations that cannot be worked on, or not wholly. */
  problems(): readonly Problem[];
  fault(): StoreFault | undefined;
}

export async function setShared(metrics: Metrics, sources: SharedSources): Promise<void> {
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
