// The daemon's work under way, for those who watch it. In: its beginning and end, the engine's progress. Out: each step, with the run
// or the plan that it is of. Runs and plans are done one at a time: there is never more than one.
import type { Progress, WorkProgress } from '../domain/progress.ts';

export class WorkUnderWay {
  private of: Pick<WorkProgress, 'run' | 'plan'> = {};
  private heard: (progress: WorkProgress | undefined) => void = () => {};

  onProgress(listener: (progress: WorkProgress | undefined) => void): void {
    this.heard = listener;
  }

  readonly step: Progress = (step) => this.heard({ ...this.of, ...step });

  begin(of: Pick<WorkProgress, 'run' | 'plan'>): void {
    this.of = of;
  }

  end(): void {
    this.of = {};
    this.heard(undefined);
  }
}
