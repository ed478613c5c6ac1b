// worker: what this process has under way, and how its jobs ended. In: the begin and the end of each job. Out: what is under way, and the
// organizations whose last job failed; whoever counts hears of each. Nothing rests on it.
import { AppError, type ErrorCode } from '../domain/errors.ts';
import { JOB_KINDS, type Job, type JobHandler, type JobValue } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';

type JobName = Pick<Job, 'organization' | 'kind'>;
export type JobResult = 'done' | 'failed' | 'broken_off';

interface JobListener {
  began(job: JobName & { lagMs: number }): void;
  ended(job: JobName & { result: JobResult; ms: number }): void;
}

interface Failure extends JobName {
  /** Epoch ms. */
  at: number;
  code: ErrorCode;
}

/** Another worker may have done the next one: an older failure says nothing of now. */
const COUNTS_MS = 60 * 60_000;

export class WorkWatch {
  private readonly current = new Map<object, JobName & { sinceMs: number }>();
  private readonly failures = new Map<string, Failure>();
  private readonly listeners: JobListener[] = [];

  constructor(private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {}

  on(listener: JobListener): void {
    this.listeners.push(listener);
  }

  watched(handler: JobHandler): JobHandler {
    return async (job) => {
      const { organization, kind } = job;
      const sinceMs = this.clock.monotonicMs();
      this.current.set(job, { organization, kind, sinceMs });
      for (const listener of this.listeners) listener.began({ organization, kind, lagMs: lagOf(job) });
      try {
        const answer = await handler(job);
        this.end(job, 'done');
        return answer;
      } catch (error) {
        this.end(job, isBrokenOff(error) ? 'broken_off' : 'failed', error);
        throw error;
      }
    };
  }

  /** The longest first. */
  underWay(): (JobName & { ms: number })[] {
    const now = this.clock.monotonicMs();
    const all = [...this.current.values()].map(({ sinceMs, ...job }) => ({ ...job, ms: now - sinceMs }));
    return all.sort((one, other) => other.ms - one.ms);
  }

  /** Of the last hour, those that no later job of the same kind here has made good. */
  failing(): readonly Failure[] {
    const now = this.clock.nowMs();
    for (const [key, { at }] of this.failures) if (now - at > COUNTS_MS) this.failures.delete(key);
    return [...this.failures.values()];
  }

  private end(job: Job, result: JobResult, error?: unknown): void {
    const { organization, kind } = job;
    const ms = this.clock.monotonicMs() - (this.current.get(job)?.sinceMs ?? 0);
    this.current.delete(job);
    for (const listener of this.listeners) listener.ended({ organization, kind, result, ms });
    const key = `${organization} ${kind}`;
    if (result === 'done') this.failures.delete(key);
    // What a person asked for is answered to them.
    else if (result === 'failed' && !JOB_KINDS[kind].isAwaited)
      this.failures.set(key, { organization, kind, at: this.clock.nowMs(), code: codeOf(error) });
  }
}

/** It ended as the process does: its right to act was lost, or the process is being stopped. */
export function isBrokenOff(error: unknown): boolean {
  return error instanceof AppError && error.code === 'stopped';
}

/** From when it was due: a schedule may be asked late when no worker was there. */
function lagOf({ waitedMs, payload }: Job): number {
  return waitedMs + lateMsIn(payload);
}

function lateMsIn(payload: JobValue): number {
  const late = typeof payload === 'object' && payload !== null && 'lateMs' in payload ? payload.lateMs : 0;
  return typeof late === 'number' ? late : 0;
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof AppError ? error.code : 'internal';
}
