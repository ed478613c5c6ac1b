// metrics: put together: listens to commits, calls, progress and answers, and writes the text of a scrape. In: the ports of the daemon. Out:
// Prometheus text. INVARIANT: nothing waits for it and nothing rests on it: what fails here fails here.

import { giveWay } from '../../base/turns.ts';
import { AUDIT_KINDS, type AuditNote, familyOf } from '../../domain/audit-entry.ts';
import type { Fact } from '../../domain/facts.ts';
import type { Clock } from '../../domain/ports.ts';
import type { WorkProgress } from '../../domain/replay.ts';
import type { WatchLook } from '../../domain/run.ts';
import type { LastFindings, StoreFigures, Waiting } from '../../domain/store.ts';
import type { Source } from '../../domain/subjects.ts';
import { VERDICTS } from '../../domain/verdict.ts';
import { Metrics } from './registry.ts';
import {
  type AnsweredRequest,
  countAnswered,
  flag,
  type MetricSources,
  type PresentState,
  seconds,
  setPresent,
} from './shared-gauges.ts';

// Counts what commits record.

/** A millisecond or so. */
const NOTES_OF_TURN = 2_000;

export class NoteCounts {
  private readonly waiting: (readonly AuditNote[])[] = [];
  private isCounting = false;
  /** Modes and triggers of runs that have begun, by their ids. */
  private readonly begun = new Map<string, { mode: string; trigger: string }>();

  /** `isRule`: whether a rule of this id is loaded. Another one is counted without its name: names of files that are gone add up. */
  constructor(
    private readonly metrics: Metrics,
    private readonly isRule: (id: string) => boolean,
  ) {
    // A counter that appears with its first count shows no increase.
    for (const kind of AUDIT_KINDS)
      if (familyOf(kind) === 'plan') metrics.count('trustward_plan_changes_total', { change: lastPart(kind) }, 0);
    for (const result of ['delivered', 'given_up']) metrics.count('trustward_notifications_total', { result }, 0);
  }

  /** Returns at once. */
  add(notes: readonly AuditNote[]): void {
    if (!this.isCounting && notes.length <= NOTES_OF_TURN) this.countAll(notes);
    else this.waiting.push(notes);
    if (!this.isCounting && this.waiting.length > 0) void this.countInTurns().catch(() => {}); // what it has not counted is lost
  }

  private async countInTurns(): Promise<void> {
    this.isCounting = true;
    try {
      for (let notes = this.waiting.shift(); notes; notes = this.waiting.shift()) {
        for (let at = 0; at < notes.length; at += NOTES_OF_TURN) {
          this.countAll(notes.slice(at, at + NOTES_OF_TURN));
          await giveWay();
        }
      }
    } finally {
      this.isCounting = false;
    }
  }

  private countAll(notes: readonly AuditNote[]): void {
    const alike = new Map<string, { note: AuditNote; count: number }>();
    for (const note of notes) {
      const key = keyOf(note);
      const found = alike.get(key);
      if (found) found.count += 1;
      else alike.set(key, { note, count: 1 });
    }
    for (const { note, count } of alike.values()) this.count(note, count);
  }

  private count({ kind, body }: AuditNote, count: number): void {
    const { metrics } = this;
    const text = (name: string) => textOf(body[name]);
    metrics.count('trustward_audit_entries_total', { family: familyOf(kind) }, count);
    switch (kind) {
      case 'decision.made': {
        const rule = this.ruleOf(text('rule'));
        const labels = { rule, decision: text('answer'), reason: text('reason') };
        metrics.count('trustward_decisions_total', labels, count);
        break;
      }
      case 'intent.sent':
        metrics.count('trustward_attempts_total', { action: text('action') }, count);
        break;
      case 'intent.settled':
        metrics.count('trustward_outcomes_total', { action: text('action'), outcome: text('outcome') }, count);
        break;
      case 'intent.dry':
        metrics.count('trustward_outcomes_total', { action: text('action'), outcome: 'dry_run' }, count);
        break;
      case 'intent.withdrawn':
        metrics.count('trustward_withdrawn_total', { action: text('action'), reason: text('reason') }, count);
        break;
      case 'alert.raised':
        metrics.count('trustward_alerts_raised_total', { alert: text('code') }, count);
        break;
      case 'notification.delivered':
      case 'notification.given_up':
        metrics.count('trustward_notifications_total', { result: lastPart(kind) }, count);
        break;
      case 'source.untrusted':
        this.countReasons(text('source'), body.reasons);
        break;
      case 'run.started':
        this.begin(text('run'), { mode: text('mode'), trigger: text('trigger') });
        break;
      case 'run.finished':
      case 'run.aborted':
        this.end(text('run'), kind === 'run.finished' ? 'completed' : 'aborted');
        break;
      default:
        if (familyOf(kind) === 'plan') metrics.count('trustward_plan_changes_total', { change: lastPart(kind) }, count);
    }
  }

  private countReasons(source: string, reasons: Fact | undefined): void {
    for (const each of Array.isArray(reasons) ? reasons : []) {
      const reason = textOf((each as { code?: Fact }).code);
      this.metrics.count('trustward_source_untrusted_total', { source, reason });
    }
  }

  private begin(run: string, of: { mode: string; trigger: string }): void {
    // One is under way at a time: others could not record their end.
    this.begun.clear();
    this.begun.set(run, of);
  }

  /** A run of a process before this one ends without its beginning. */
  private end(run: string, status: string): void {
    const { mode, trigger } = this.begun.get(run) ?? { mode: 'unknown', trigger: 'unknown' };
    this.begun.delete(run);
    this.metrics.count('trustward_runs_total', { mode, trigger, status });
  }

  private ruleOf(id: string): string {
    return this.isRule(id) ? id : '(not loaded)';
  }
}

/** Notes of one key count the same. */
function keyOf({ kind, body }: AuditNote): string {
  switch (kind) {
    case 'decision.made':
      return `${kind} ${textOf(body.rule)} ${textOf(body.answer)} ${textOf(body.reason)}`;
    case 'source.untrusted':
      return `${kind} ${textOf(body.source)} ${textOf(body.run)}`;
    case 'alert.raised':
      return `${kind} ${textOf(body.code)}`;
    default:
      if (familyOf(kind) === 'run') return `${kind} ${textOf(body.run)}`;
      return `${kind} ${textOf(body.action)} ${textOf(body.outcome)} ${textOf(body.reason)}`;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown';
}

function lastPart(kind: string): string {
  return kind.slice(kind.indexOf('.') + 1);
}

// How long a run and its stages take.

interface Timed {
  run: string;
  trigger: string;
  startedAt: number;
  sinceMs: number;
  stage: string;
  stageSinceMs: number;
  /** When calls were sent, epoch ms. */
  sentAt: number[];
}

/** A look acts on no more. */
const SENT_MAX = 1_000;

export class RunTimer {
  private timed: Timed | undefined;

  constructor(
    private readonly metrics: Metrics,
    private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  ) {}

  /** When the run under way began, epoch ms. */
  startedAt(): number | undefined {
    return this.timed?.startedAt;
  }

  recorded(notes: readonly AuditNote[]): void {
    for (const { kind, body } of notes) {
      if (kind === 'run.started') this.begin(String(body.run), String(body.trigger));
      else if (kind === 'intent.sent') this.sent(String(body.run));
    }
  }

  /** Undefined: the work under way is over. */
  step(progress: WorkProgress | undefined): void {
    if (!this.timed) return;
    if (progress === undefined) this.end(this.timed);
    else if (progress.run === this.timed.run) this.enter(this.timed, progress.phase.replaceAll(' ', '_'));
  }

  /** INVARIANT: called before the work of the look is over. `aheadMs`: the clock of the API minus ours. */
  looked({ run, oldestEventAt }: WatchLook, aheadMs: number): void {
    if (!run || oldestEventAt === undefined || this.timed?.run !== run.id) return;
    for (const sentAt of this.timed.sentAt)
      this.metrics.observe('trustward_event_to_act_seconds', {}, Math.max(0, sentAt + aheadMs - oldestEventAt) / 1_000);
  }

  private begin(run: string, trigger: string): void {
    const sinceMs = this.clock.monotonicMs();
    const startedAt = this.clock.nowMs();
    this.timed = { run, trigger, startedAt, sinceMs, stage: 'starting', stageSinceMs: sinceMs, sentAt: [] };
  }

  private sent(run: string): void {
    if (this.timed?.run === run && this.timed.sentAt.length < SENT_MAX) this.timed.sentAt.push(this.clock.nowMs());
  }

  private enter(timed: Timed, stage: string): void {
    if (timed.stage === stage) return;
    const atMs = this.clock.monotonicMs();
    this.metrics.observe(
      'trustward_run_stage_duration_seconds',
      { stage: timed.stage },
      (atMs - timed.stageSinceMs) / 1_000,
    );
    timed.stage = stage;
    timed.stageSinceMs = atMs;
  }

  private end(timed: Timed): void {
    this.enter(timed, '');
    const seconds = (this.clock.monotonicMs() - timed.sinceMs) / 1_000;
    this.metrics.observe('trustward_run_duration_seconds', { trigger: timed.trigger }, seconds);
    this.timed = undefined;
  }
}

// What the database and its disk show, as gauges. In: the store. Out: gauges; absent is what cannot be read now.
// INVARIANT: a scrape never waits for a disk that hangs, and never reads the database more often than once a second.

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
  for (const { name: transmitter, counts, contactAt, known } of figures.transmitters) {
    for (const [result, count] of Object.entries(counts))
      metrics.set('trustward_signals', { transmitter, result }, count);
    if (contactAt !== undefined)
      metrics.set('trustward_transmitter_contact_timestamp_seconds', { transmitter }, contactAt / 1_000);
    if (known) metrics.set('trustward_transmitter_known_timestamp_seconds', { transmitter }, known.toMs / 1_000);
  }
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
