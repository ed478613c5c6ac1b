// system: how far a run is, in one rewritten line at a terminal. In: steps of a run. Out: escape sequences on standard error, at
// most ten times a second. Whoever writes a line of its own clears this one first.
import type { Clock } from '../domain/ports.ts';
import type { Progress, ProgressStep } from '../domain/progress.ts';
import { systemClock } from './clock.ts';

const REDRAW_MS = 100;

interface Stream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export class StatusLine {
  private drawnAt = Number.NEGATIVE_INFINITY;
  private isShown = false;

  constructor(
    private readonly stream: Stream,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Undefined where a line cannot be rewritten. */
  progress(env: Record<string, string | undefined>): Progress | undefined {
    return this.stream.isTTY && env.TERM !== 'dumb' ? (step) => this.show(step) : undefined;
  }

  clear(): void {
    if (this.isShown) this.stream.write('\r\u001b[K');
    this.isShown = false;
  }

  private show(step: ProgressStep): void {
    const nowMs = this.clock.monotonicMs();
    const isNew = step.done === undefined || step.done === 0;
    if (this.isShown && !isNew && nowMs - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = nowMs;
    this.isShown = true;
    // Never the last column: some terminals would begin a new line.
    this.stream.write(`\r\u001b[K${statusText(step).slice(0, (this.stream.columns ?? 80) - 1)}`);
  }
}

/** `reading devices: 1,200 of 100,000`. INVARIANT: ASCII alone, which controls no terminal and has one column a character. */
export function statusText({ phase, what, done, total }: ProgressStep): string {
  const subject = what === undefined ? phase : `${phase} ${what.replace(/[^ -~]/g, '?')}`;
  if (done === undefined) return `${subject} ...`;
  const count = done.toLocaleString('en');
  return `${subject}: ${total === undefined || total < done ? count : `${count} of ${total.toLocaleString('en')}`}`;
}

/** The one of this process. */
export const statusLine = new StatusLine(process.stderr, systemClock);
