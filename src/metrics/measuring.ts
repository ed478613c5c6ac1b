// metrics: put together: listens to commits, calls, progress and answers, and writes the text of a scrape. In: the ports of the daemon. Out:
// Prometheus text. INVARIANT: nothing waits for it and nothing rests on it: what fails here fails here.
import type { WatchLook } from '../domain/watch.ts';
import { NoteCounts } from './note-counts.ts';
import { setPresent } from './present-gauges.ts';
import { Metrics } from './registry.ts';
import { type AnsweredRequest, countAnswered } from './requests.ts';
import { RunTimer } from './run-timer.ts';
import type { MetricSources } from './sources.ts';
import { StoreGauges } from './store-gauges.ts';

export class Measuring {
  private readonly metrics = new Metrics();
  private readonly timer: RunTimer;
  private readonly fromStore: StoreGauges;
  private scrape: Promise<string> | undefined;
  private readonly ruleIds = new WeakMap<object, ReadonlySet<string>>();

  constructor(private readonly sources: MetricSources) {
    const { metrics } = this;
    const { store, clock, version } = sources;
    this.timer = new RunTimer(metrics, clock);
    this.fromStore = new StoreGauges(metrics, sources);
    const notes = new NoteCounts(metrics, (id) => this.isRule(id));
    metrics.set('trustward_build_info', { version }, 1);
    this.streams(0);
    store.onAudited((written) => {
      notes.add(written);
      this.timer.recorded(written);
      if (written.some(({ kind }) => kind === 'run.finished' || kind === 'run.aborted')) this.fromStore.runEnded();
    });
    sources.onProgress((progress) => this.timer.step(progress));
    sources.watchCalls({
      called: ({ operation, answer, ms }) => {
        metrics.count('trustward_api_requests_total', { operation, answer });
        metrics.observe('trustward_api_request_duration_seconds', { operation }, ms / 1_000);
      },
      retried: (operation) => metrics.count('trustward_api_retries_total', { operation }),
    });
  }

  get contentType(): string {
    return this.metrics.contentType;
  }

  answered(request: AnsweredRequest): void {
    countAnswered(this.metrics, request);
  }

  streams(open: number): void {
    this.metrics.set('trustward_http_streams', {}, open);
  }

  looked(look: WatchLook): void {
    this.timer.looked(look, this.sources.now().skewMs ?? 0);
  }

  /** Those who ask at once share the answer. */
  text(): Promise<string> {
    this.scrape ??= this.write().finally(() => {
      this.scrape = undefined;
    });
    return this.scrape;
  }

  private async write(): Promise<string> {
    const now = this.sources.now();
    const startedAt = this.timer.startedAt();
    setPresent(this.metrics, now, this.sources.rules());
    this.metrics.set('trustward_run_started_timestamp_seconds', {}, startedAt && startedAt / 1_000);
    await this.fromStore.set(now);
    return this.metrics.text();
  }

  private isRule(id: string): boolean {
    const rules = this.sources.rules();
    const ids = this.ruleIds.get(rules) ?? new Set(rules.map((rule) => rule.id));
    this.ruleIds.set(rules, ids);
    return ids.has(id);
  }
}
