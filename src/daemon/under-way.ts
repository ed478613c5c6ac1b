// The run or the applied plan that the daemon has under way, and how far it is, for people. In: its begin, its steps and its end. Out:
// what is known now, and each step for those who watch. One is under way at a time. Nothing rests on it.
import type { Progress, ProgressStep, WorkProgress } from '../domain/progress.ts';
import type { Run } from '../domain/run.ts';
import type { RunUnderWay } from '../http/index.ts';

export class UnderWay {
  private run: Run | undefined;
  private plan: string | undefined;
  private step: ProgressStep | undefined;
  private readonly watches: ((progress: WorkProgress | undefined) => void)[] = [];

  /** Called when a run has begun. */
  begin(run: Run): void {
    this.run = run;
    this.step = undefined;
  }

  beginPlan(id: string): void {
    this.plan = id;
  }

  end(): void {
    this.run = undefined;
    this.plan = undefined;
    this.watch(undefined);
  }

  /** From now on the watch gets each step, and undefined at the end. */
  onProgress(watch: (progress: WorkProgress | undefined) => void): void {
    this.watches.push(watch);
  }

  /** Notes each step, and passes it on to whoever looked before. */
  following(before: Progress | undefined): Progress {
    return (step) => {
      this.step = step;
      this.watch({ run: this.run?.id, plan: this.plan, ...step });
      before?.(step);
    };
  }

  /** Trying a rule is no run: only those who watch get its steps. */
  trying(rule: string): Progress {
    return (step) => this.watch({ trial: rule, ...step });
  }

  private watch(progress: WorkProgress | undefined): void {
    for (const each of this.watches) each(progress);
  }

  now(): RunUnderWay | undefined {
    if (!this.run) return undefined;
    const { id, seq, mode, trigger, startedAt } = this.run;
    return { run: id, seq, mode, trigger, startedAt, ...this.step };
  }
}
