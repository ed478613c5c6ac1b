// history: which runs of a replay are decided when not all are: the first whole run of each stretch. In: runs in their order. Out: whether each is.
import type { RunFrame } from '../../domain/recorded-history.ts';

export class DueRuns {
  private nextMs = Number.NEGATIVE_INFINITY;

  /** `everyMs`: the length of a stretch; undefined: every run is due. */
  constructor(
    private readonly everyMs: number | undefined,
    private readonly fromMs: number,
  ) {}

  /** A look counts as one run with the last whole one: of stretches, whole runs alone are decided. */
  isDue({ run: { startedAt }, part }: Pick<RunFrame, 'run' | 'part'>): boolean {
    const { everyMs, fromMs } = this;
    if (everyMs === undefined) return true;
    if (part !== undefined || startedAt < this.nextMs) return false;
    this.nextMs = fromMs + (Math.floor((startedAt - fromMs) / everyMs) + 1) * everyMs;
    return true;
  }
}
