// The run that the daemon has under way, and how far it is, for people. In: its begin, its steps and its end. Out: what is known now.
// Nothing rests on it.
import type { Progress, ProgressStep } from '../domain/progress.ts';
import type { Run } from '../domain/run.ts';
import type { RunUnderWay } from '../http/index.ts';

export class UnderWay {
  private run: Run | undefined;
  private step: ProgressStep | undefined;

  /** Called when a run has begun. */
  readonly begin = (run: Run): void => {
    this.run = run;
    this.step = undefined;
  };

  readonly end = (): void => {
    this.run = undefined;
  };

  /** Notes each step, and passes it on to whoever looked before. */
  following(before: Progress | undefined): Progress {
    return (step) => {
      this.step = step;
      before?.(step);
    };
  }

  now(): RunUnderWay | undefined {
    if (!this.run) return undefined;
    const { id, seq, mode, trigger, startedAt } = this.run;
    return { run: id, seq, mode, trigger, startedAt, ...this.step };
  }
}
