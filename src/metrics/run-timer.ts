// metrics: how long a run and its stages take. In: its beginning, the steps of its progress, its end. Out: histograms. A step of no run (of
// an applied plan, a tried rule, a look that made no run) is not measured.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Clock } from '../domain/ports.ts';
import type { WorkProgress } from '../domain/progress.ts';
import type { WatchLook } from '../domain/watch.ts';
import type { Metrics } from './registry.ts';

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
