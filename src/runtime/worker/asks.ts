// worker: what a person commands that calls something, asked for in one process and done by a worker. In: jobs, the rows of what was asked for.
// Out: turns, as a daemon has them. INVARIANT: the job has an id and a code alone: what was said and answered names subjects, and is kept apart by
// organization. Both are named JSON, read by the schemas of the operation.
import { z } from 'zod';
import { type Answer, type Asking, parsedInput, touchSchema } from '../../contract/operation.ts';
import { OPERATIONS, type Output, type Parsed } from '../../contract/table.ts';
import { tokenOf } from '../../domain/actor.ts';
import { AppError, ERROR_CODES, lineOf } from '../../domain/errors.ts';
import type { Job, JobFault, JobState, Jobs } from '../../domain/jobs.ts';
import type { Asks, Kept } from '../../store/postgres/pool.ts';
import { type ActingId, isActing, type Turns } from '../operations/acting.ts';

interface AskingWorkers {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  asks: Asks;
  organization: string;
  newId: () => string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** A person waits for an answer this long; the work itself goes on. */
const ANSWER_MS = 10 * 60_000;

export function turnsByJobs({ jobs, asks, organization, newId, signal }: AskingWorkers): Turns {
  return {
    operate: async (operation, input, { by, groups, touch }) => {
      const id = newId();
      const value = { by, ...(groups && { groups }), ...(touch && { touch }), input };
      await asks.add(id, { operation, said: { form: 'named', value } });
      const job = { organization, kind: 'operate', payload: { ask: id }, by: tokenOf(by) } as const;
      const ticket = await jobs.ask(job);
      const wanted = { organization, id: ticket.id, until: 'ended', timeoutMs: ANSWER_MS, signal } as const;
      await demandDone(asks, ticket.id, await jobs.answerOf(wanted));
      return answerIn(operation, await asks.answerOf(id));
    },
  };
}

/** Errors: AppError `internal` for an answer of another version. */
function answerIn<Id extends ActingId>(id: Id, { form, value }: Kept): Output<Id> {
  if (form === 'positional')
    throw new AppError('internal', 'a worker of another version answered: update the workers first');
  const answers: Readonly<Record<number, Answer>> = OPERATIONS[id].answers;
  const [{ schema } = {}] = Object.values(answers);
  return (schema as z.ZodType<Output<Id>>).parse(value);
}

const given = (reason: unknown) => reason ?? undefined;

/** As the version before said it: by position, under other names. */
const POSITIONAL: Readonly<Record<string, (said: readonly unknown[]) => { id: ActingId; by: unknown; input: object }>> =
  {
    approve: ([id, by, reason, part, breakGlass]) => ({
      id: 'approvePlan',
      by,
      input: { id, reason: given(reason), ...(part as object), breakGlass: breakGlass ?? false },
    }),
    reject: ([id, by, reason]) => ({ id: 'rejectPlan', by, input: { id, reason: given(reason) } }),
    apply: ([id, by, glass]) => {
      const { reason } = (glass ?? {}) as { reason?: string };
      return { id: 'applyPlan', by, input: { id, reason, breakGlass: reason !== undefined } };
    },
    exempt: ([request, by]) => ({ id: 'addExemption', by, input: request as object }),
    resolve: ([id, as, operator]) => {
      const { by, reason } = operator as { by: string; reason: string };
      return { id: 'resolveIntent', by, input: { id, as, reason } };
    },
    release: ([target, operator]) => {
      const { by, reason } = operator as { by: string; reason: string };
      return { id: 'releaseClaims', by, input: { target, reason } };
    },
    releaseRule: ([rule, by, reason]) => ({ id: 'releaseClaims', by, input: { rule, reason: given(reason) } }),
  };

const NAMED = z.strictObject({
  by: z.string(),
  groups: z.array(z.string()).exactOptional(),
  touch: touchSchema.exactOptional(),
  input: z.record(z.string(), z.unknown()),
});

export interface Asked extends Asking {
  id: ActingId;
  input: Parsed<ActingId>;
  form: Kept['form'];
}

/**
 * What was asked for, at the worker; it is answered in the form in which it was said. Errors: AppError `not_found`, `internal` for an operation that
 * this version does not have, or for a form of it.
 */
export async function askedFor(asks: Pick<Asks, 'find'>, ask: string): Promise<Asked> {
  const { operation, said } = await asks.find(ask);
  const { form, value } = said;
  try {
    const of = form === 'positional' && Object.hasOwn(POSITIONAL, operation) ? POSITIONAL[operation] : undefined;
    const named = () => ({ id: operation, ...NAMED.parse(value) });
    const { id, by, input, ...who } = of?.(value as unknown[]) ?? named();
    if (!isActing(id)) throw new AppError('usage', 'it is of another version');
    return { id, input: parsedInput(OPERATIONS[id], input), by: z.string().parse(by), ...who, form };
  } catch (error) {
    const fault = error instanceof AppError ? error.message : 'it is said in another form';
    throw new AppError('internal', `this worker cannot do the operation \`${operation}\`: ${fault}`);
  }
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

const FAULT = z.object({ code: z.enum(ERROR_CODES), message: z.string(), retryAfterMs: z.number().optional() });

/** Errors: that of the work; AppError `busy` when it has not ended in time. */
export async function demandDone(asks: Pick<Asks, 'faultOf'>, id: string, state: JobState): Promise<void> {
  if (state.kind === 'done') return;
  if (state.kind === 'failed') {
    const kept = FAULT.safeParse(await asks.faultOf(id));
    const { code, message, retryAfterMs } = kept.success ? kept.data : state.fault;
    throw new AppError(code, message, { retryAfterMs });
  }
  throw new AppError(
    'busy',
    `no worker has answered within ${ANSWER_MS / 60_000} minutes: look at \`/readyz\`, and at what is done before you repeat it`,
  );
}
