// metrics: the home of prom-client: the metrics of the definitions, and those of the process. In: counts, times, and the present state for
// each scrape. Out: the text of a scrape. What is not known is absent: it is never 0.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Definition, LabelsOf } from './definition.ts';
import { PROCESS } from './process-definitions.ts';
import { RUNS } from './run-definitions.ts';
import { SAFETY } from './safety-definitions.ts';
import { WORKERS } from './worker-definitions.ts';

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
