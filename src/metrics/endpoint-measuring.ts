// metrics: of a process that answers for several organizations and makes no runs. In: what waits for workers, the organizations, answers. Out:
// Prometheus text.
import { NAMED_MAX, OTHERS } from './named-organizations.ts';
import { Metrics } from './registry.ts';
import { type AnsweredRequest, countAnswered } from './requests.ts';
import { type SharedSources, setShared } from './shared-gauges.ts';

export interface EndpointSources extends SharedSources {
  /** Organizations that cannot be worked on, or not wholly. */
  problems(): readonly { organization: string; kind: string }[];
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
    this.setProblems(this.sources.problems());
    await setShared(this.metrics, this.sources);
    return this.metrics.text();
  }

  private setProblems(problems: ReturnType<EndpointSources['problems']>): void {
    this.metrics.clear('trustward_organization_problem');
    const named = new Set([...new Set(problems.map(({ organization }) => organization))].sort().slice(0, NAMED_MAX));
    const sums = new Map<string, { organization: string; kind: string; count: number }>();
    for (const { organization: of, kind } of problems) {
      const organization = named.has(of) ? of : OTHERS;
      const key = `${organization} ${kind}`;
      sums.set(key, { organization, kind, count: (sums.get(key)?.count ?? 0) + 1 });
    }
    for (const { organization, kind, count } of sums.values())
      this.metrics.set('trustward_organization_problem', { organization, kind }, count);
  }
}
