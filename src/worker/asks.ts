// worker: what a person commands that calls something, asked for in one process and done by a worker. In: jobs, the rows of what was asked for.
// Out: turns, as a daemon has them. INVARIANT: the job has an id and a code alone: what was said and answered names subjects, and is kept apart by
// organization.
import { OPERATIONS, type Operation, type Said, type Turns } from '../daemon/operations.ts';
import { tokenOf } from '../domain/actor.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Job, JobFault, JobState, Jobs } from '../domain/jobs.ts';
import type { Asks } from '../store/postgres/asks.ts';

export interface Asking {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  asks: Asks;
  organization: string;
  newId: () => string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** A person waits for an answer this long; the work itself goes on. */
const ANSWER_MS = 10 * 60_000;

export function turnsByJobs({ jobs, asks, organization, newId, signal }: Asking): Turns {
  return {
    operate: async (name, by, ...said) => {
      const id = newId();
      await asks.add(id, { operation: name, said });
      const job = { organization, kind: 'operate', payload: { ask: id }, by: tokenOf(by) } as const;
      const ticket = await jobs.ask(job);
      const wanted = { organization, id: ticket.id, until: 'ended', timeoutMs: ANSWER_MS, signal } as const;
      await demandDone(asks, ticket.id, await jobs.answerOf(wanted));
      return (await asks.answerOf(id)) as never;
    },
  };
}

/** What was asked for, at the worker. Errors: AppError `not_found`, `internal` for an operation that this version does not have. */
export async function askedFor(asks: Asks, id: string): Promise<{ name: Operation; said: Said<Operation> }> {
  const { operation, said } = await asks.find(id);
  if (!Object.hasOwn(OPERATIONS, operation))
    throw new AppError(
      'internal',
      `this worker does not know the operation \`${operation}\`: it is of another version`,
    );
  return { name: operation as Operation, said: said as Said<Operation> };
}

/** At the worker, for whoever asked. Nothing is kept for a job that is another worker's by now. Errors: AppError `store_failed`. */
export async function keepFault(asks: Asks, { id, lost }: Pick<Job, 'id' | 'lost'>, error: unknown): Promise<void> {
  if (lost.aborted) return;
  const fault: JobFault =
    error instanceof AppError
      ? { code: error.code, message: error.message, retryAfterMs: error.options.retryAfterMs }
      : { code: 'internal', message: lineOf(error) };
  await asks.noteFault(id, fault);
}

/** Errors: that of the work; AppError `busy` when it has not ended in time. */
export async function demandDone(asks: Pick<Asks, 'faultOf'>, id: string, state: JobState): Promise<void> {
  if (state.kind === 'done') return;
  if (state.kind === 'failed') {
    const { code, message, retryAfterMs } = (await asks.faultOf(id)) ?? state.fault;
    throw new AppError(code, message, { retryAfterMs });
  }
  throw new AppError(
    'busy',
    `no worker has answered within ${ANSWER_MS / 60_000} minutes: look at \`/readyz\`, and at what is done before you repeat it`,
  );
}
