// metrics: of a process that answers for several organizations and makes no runs. In: what waits for workers, the organizations, answers. Out:
// Prometheus text.
import { Metrics } from './registry.ts';
import { type AnsweredRequest, countAnswered } from './requests.ts';
import { type SharedSources, setShared } from './shared-gauges.ts';

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
