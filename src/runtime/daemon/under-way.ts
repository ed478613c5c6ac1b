// daemon: the run or the applied plan that it has under way, and how far it is, for people; and the turns of operations among runs.

import type { Progress, ProgressStep, WorkProgress } from '../../domain/replay.ts';
import type { Run } from '../../domain/run.ts';
import type { RunUnderWay } from '../../faces/http/deps.ts';
import { type Acting, done, shown, type Turns } from '../operations/acting.ts';
import type { Reading } from '../operations/reading.ts';
import type { RunQueue } from '../schedule/run-queue.ts';

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

/** Turns in this process. */
export function turnsIn(
  queue: Pick<RunQueue, 'inTurn'>,
  acting: Acting,
  reading: Pick<Reading, 'reader' | 'evidence' | 'clock'>,
): Turns {
  return {
    operate: async (id, input, who) =>
      shown(reading, id, await queue.inTurn('operator', who.by, () => done(acting, id, input, who))),
  };
}
