// worker: what a person commands that calls something, asked for in one process and done by a worker. In: jobs, the rows of what was asked for.
// Out: turns, as a daemon has them. INVARIANT: the job has an id alone: what was said names subjects, and is kept apart by organization.
import { OPERATIONS, type Operation, type Said, type Turns } from '../daemon/operations.ts';
import { tokenOf } from '../domain/actor.ts';
import { AppError } from '../domain/errors.ts';
import type { JobState, Jobs } from '../domain/jobs.ts';
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
      demandDone(await jobs.answerOf({ organization, id: ticket.id, until: 'ended', timeoutMs: ANSWER_MS, signal }));
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

/** Errors: that of the work; AppError `busy` when it has not ended in time. */
export function demandDone(state: JobState): void {
  if (state.kind === 'done') return;
  if (state.kind === 'failed') {
    const { code, message, retryAfterMs } = state.fault;
    throw new AppError(code, message, { retryAfterMs });
  }
  throw new AppError(
    'busy',
    `no worker has answered within ${ANSWER_MS / 60_000} minutes: look at \`/readyz\`, and at what is done before you repeat it`,
  );
}
