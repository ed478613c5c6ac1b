// metrics: what the database and its disk show, as gauges. In: the store. Out: gauges; absent is what cannot be read now. INVARIANT: a
// scrape never waits for a disk that hangs, and never reads the database more often than once a second.
import type { LastFindings, StoreFigures, Waiting } from '../domain/store-figures.ts';
import type { Source } from '../domain/subjects.ts';
import { VERDICTS } from '../domain/verdict.ts';
import { flag, seconds } from './present-gauges.ts';
import type { Metrics } from './registry.ts';
import type { MetricSources, PresentState } from './sources.ts';

const FRESH_MS = 1_000;
const DISK_WAIT_MS = 250;

export class StoreGauges {
  private figures: StoreFigures | undefined;
  private findings: LastFindings | undefined;
  private areFindingsOld = true;
  private readMs = Number.NEGATIVE_INFINITY;
  private readAt: number | undefined;
  private disk: Promise<void> | undefined;

  constructor(
    private readonly metrics: Metrics,
    private readonly sources: Pick<MetricSources, 'store' | 'clock' | 'rules'>,
  ) {}

  /** A run has ended: what it found is read at the next scrape. */
  runEnded(): void {
    this.areFindingsOld = true;
  }

  async set(now: PresentState): Promise<void> {
    const isRead = await this.read();
    const { metrics } = this;
    metrics.set('trustward_store_up', {}, flag(isRead && now.fault === undefined));
    this.clear();
    if (this.figures) setFigures(metrics, this.figures, now.sourcesRead);
    if (this.findings) setFindings(metrics, this.findings, this.sources.rules());
    if (isRead) metrics.set('trustward_store_read_timestamp_seconds', {}, seconds(this.readAt));
    await this.setDisk();
  }

  /** Returns false when it cannot be read: then nothing of it is known. */
  private async read(): Promise<boolean> {
    const { store, clock } = this.sources;
    if (clock.monotonicMs() - this.readMs < FRESH_MS) return this.figures !== undefined;
    this.readMs = clock.monotonicMs();
    try {
      const figures = await store.figures();
      if (this.areFindingsOld) this.findings = await store.lastFindings();
      this.areFindingsOld = false;
      this.readAt = clock.nowMs();
      this.figures = figures;
    } catch {
      // The store reports its faults itself: to the log, to `/readyz` and by an alert.
      this.figures = this.findings = undefined;
      this.areFindingsOld = true;
    }
    return this.figures !== undefined;
  }

  private clear(): void {
    this.metrics.clear(
      'trustward_stopped',
      'trustward_stopped_timestamp_seconds',
      'trustward_intents',
      'trustward_intents_oldest_timestamp_seconds',
      'trustward_plans',
      'trustward_plans_oldest_timestamp_seconds',
      'trustward_alerts',
      'trustward_notifications_waiting',
      'trustward_notifications_oldest_timestamp_seconds',
      'trustward_claims',
      'trustward_exemptions',
      'trustward_source_last_trusted_timestamp_seconds',
      'trustward_source_records',
      'trustward_source_trusted',
      'trustward_rule_subjects',
      'trustward_last_whole_run_timestamp_seconds',
      'trustward_store_read_timestamp_seconds',
    );
  }

  /** What hangs is waited for once, and shown when it answers. */
  private async setDisk(): Promise<void> {
    const { store, clock } = this.sources;
    const gone = () =>
      this.metrics.clear('trustward_database_bytes', 'trustward_disk_free_bytes', 'trustward_disk_size_bytes');
    this.disk ??= store
      .diskUse()
      .then(({ database, log, free, size }) => {
        this.metrics.set('trustward_database_bytes', { file: 'database' }, database);
        this.metrics.set('trustward_database_bytes', { file: 'log' }, log);
        this.metrics.set('trustward_disk_free_bytes', {}, free);
        this.metrics.set('trustward_disk_size_bytes', {}, size);
      })
      .catch(gone)
      .finally(() => {
        this.disk = undefined;
      });
    const late = new AbortController();
    const waited = clock.sleep(DISK_WAIT_MS, late.signal).then(gone, () => {});
    await Promise.race([this.disk, waited]);
    late.abort();
  }
}

function setFigures(metrics: Metrics, figures: StoreFigures, sourcesRead: ReadonlySet<Source>): void {
  metrics.set('trustward_stopped', {}, flag(figures.stoppedAt !== undefined));
  metrics.set('trustward_stopped_timestamp_seconds', {}, seconds(figures.stoppedAt));
  setWaiting(metrics, 'trustward_plans', 'pending', figures.plans);
  setWaiting(metrics, 'trustward_plans', 'approved', figures.approvedPlans);
  setWaiting(metrics, 'trustward_intents', 'planned', figures.plannedIntents);
  setWaiting(metrics, 'trustward_intents', 'in_doubt', figures.inDoubt);
  setWaiting(metrics, 'trustward_intents', 'parked', figures.parked);
  const { count, oldestAt } = figures.notifications;
  metrics.set('trustward_notifications_waiting', {}, count);
  metrics.set('trustward_notifications_oldest_timestamp_seconds', {}, seconds(oldestAt));
  for (const { code, count } of figures.alerts) metrics.set('trustward_alerts', { alert: code }, count);
  for (const { status, count } of figures.claims) metrics.set('trustward_claims', { status }, count);
  metrics.set('trustward_exemptions', {}, figures.exemptions);
  metrics.set('trustward_last_whole_run_timestamp_seconds', {}, seconds(figures.lastCompletedAt));
  for (const { source, at, count } of figures.lastTrusted) {
    if (!sourcesRead.has(source)) continue;
    metrics.set('trustward_source_last_trusted_timestamp_seconds', { source }, seconds(at));
    metrics.set('trustward_source_records', { source }, count);
  }
}

function setWaiting(
  metrics: Metrics,
  name: 'trustward_plans' | 'trustward_intents',
  state: string,
  { count, oldestAt }: Waiting,
): void {
  metrics.set(name, { state }, count);
  metrics.set(`${name}_oldest_timestamp_seconds`, { state }, seconds(oldestAt));
}

function setFindings(metrics: Metrics, { sources, rules }: LastFindings, all: readonly { id: string }[]): void {
  for (const { source, isUsable } of sources) metrics.set('trustward_source_trusted', { source }, flag(isUsable));
  const loaded = new Set(all.map(({ id }) => id));
  for (const tally of rules) {
    if (!loaded.has(tally.rule)) continue;
    for (const verdict of VERDICTS)
      metrics.set('trustward_rule_subjects', { rule: tally.rule, verdict }, tally[verdict]);
  }
}
