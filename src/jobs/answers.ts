// jobs: what became of a job, for those who wait. In: its organization and id. Out: its state, as soon as it is an answer. A notification
// wakes who waits; without one (the connection broke), asking again does.
import { AppError } from '../domain/errors.ts';
import { type AwaitJob, JOB_KINDS, type JobFault, type JobKind, type JobState, type JobValue } from '../domain/jobs.ts';
import type { Listening } from '../domain/listening.ts';
import type { Clock } from '../domain/ports.ts';
import { type Engine, JOB_TABLE, parsed, query, type StoredEnd } from './engine.ts';

const CHANNEL = 'trustward_job_answers';
const POLL_MS = 1_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** In the transaction that makes an answer. */
export const NOTIFY_ANSWER = `SELECT pg_notify('${CHANNEL}', $1)`;

interface Row {
  kind: JobKind;
  state: 'created' | 'retry' | 'active' | 'completed' | 'cancelled' | 'failed';
  output: StoredEnd | null;
}

export class Answers {
  private readonly wakers = new Map<string, Set<() => void>>();
  private listening: Listening | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  ) {}

  async answerOf({ organization, id, until, timeoutMs, signal }: AwaitJob): Promise<JobState> {
    if (!UUID.test(id)) throw unknown(id);
    this.listening ??= this.listen();
    const endMs = this.clock.monotonicMs() + timeoutMs;
    for (;;) {
      if (signal.aborted) throw new AppError('stopped', 'the process is being stopped');
      // INVARIANT: the waker is set before the state is read: an answer in between is not missed.
      const woken = this.wokenBy(id);
      try {
        const state = await this.read(organization, id);
        const leftMs = endMs - this.clock.monotonicMs();
        if (isAnswer(state, until) || leftMs <= 0) return state;
        await this.first(woken.promise, Math.min(leftMs, POLL_MS), signal);
      } finally {
        woken.forget();
      }
    }
  }

  async close(): Promise<void> {
    await this.listening?.close();
  }

  private async read(organization: string, id: string): Promise<JobState> {
    const [row] = await query<Row>(this.engine, STATE, [id, organization]);
    if (!row) throw unknown(id);
    return stateOf(row);
  }

  private async first(woken: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const slept = this.clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => {});
    await Promise.race([woken, slept]);
    over.abort();
  }

  private wokenBy(id: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const all = this.wakers.get(id) ?? new Set();
    this.wakers.set(id, all.add(resolve));
    const forget = () => {
      all.delete(resolve);
      if (all.size === 0 && this.wakers.get(id) === all) this.wakers.delete(id);
    };
    return { promise, forget };
  }

  private listen(): Listening {
    const heard = (id: string) => {
      for (const waker of this.wakers.get(id) ?? []) waker();
    };
    const missed = () => {
      for (const id of this.wakers.keys()) heard(id);
    };
    return this.engine.listen(CHANNEL, { heard, missed });
  }
}

const STATE = `SELECT data->>'kind' AS kind, state, output FROM ${JOB_TABLE} WHERE id = $1 AND group_id = $2`;

function unknown(id: string): AppError {
  return new AppError('not_found', `there is no job \`${id}\`, or no longer: answers are kept for ten minutes`);
}

function isAnswer({ kind, ...state }: JobState, until: AwaitJob['until']): boolean {
  if (kind === 'begun') return until === 'begun' && 'value' in state && state.value !== undefined;
  return kind !== 'waiting';
}

function stateOf({ kind, state, output }: Row): JobState {
  if (output?.done !== undefined) return { kind: 'done', value: parsed<JobValue>(output.done) };
  if (output?.failed !== undefined) return { kind: 'failed', fault: parsed<JobFault>(output.failed) };
  if (state === 'created' || state === 'retry') return { kind: 'waiting' };
  if (state === 'active') {
    return { kind: 'begun', value: output?.begun === undefined ? undefined : parsed<JobValue>(output.begun) };
  }
  return { kind: 'failed', fault: { code: 'stopped', message: JOB_KINDS[kind].isBegunAgain ? GIVEN_UP : IN_DOUBT } };
}

const IN_DOUBT =
  'the worker that carried this out ended before it answered: some of it may have been done. Look at what is in force and in doubt before you ask again';
const GIVEN_UP = 'each worker that began this ended before it was done: see the logs of the workers';
