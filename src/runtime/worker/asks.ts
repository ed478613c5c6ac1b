// worker: what a person commands that calls something, asked for in one process and done by a worker. In: jobs, the rows of what was asked for.
// Out: turns, as a daemon has them. INVARIANT: the job has an id and a code alone: what was said and answered names subjects, and is kept apart by
// organization. An answer is kept as ids of what both processes read in one database, and is parsed by the schemas here.
import { z } from 'zod';
import { AppError, ERROR_CODES, lineOf } from '../../domain/errors.ts';
import type { Exemption } from '../../domain/exemption.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Job, JobFault, JobState, Jobs } from '../../domain/jobs.ts';
import { type Released, tokenOf } from '../../domain/operator.ts';
import type { Plan } from '../../domain/plan.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { PlanAnswer } from '../../faces/http/deps.ts';
import type { Asks, Kept } from '../../store/postgres/pool.ts';
import { type Done, type Operation, SAID, type Said, saidOf, type Turns } from '../daemon/operations.ts';

export interface AnswerReader extends Pick<RecordReader, 'plan' | 'intents'> {
  exemption(id: string): Promise<Exemption | undefined>;
}

export interface Asking {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  asks: Asks;
  reader: AnswerReader;
  organization: string;
  newId: () => string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** A person waits for an answer this long; the work itself goes on. */
const ANSWER_MS = 10 * 60_000;

export function turnsByJobs({ jobs, asks, reader, organization, newId, signal }: Asking): Turns {
  return {
    operate: async (name, said) => {
      const id = newId();
      const value = saidOf(name, said);
      await asks.add(id, { operation: name, said: { form: 'named', value } });
      const job = { organization, kind: 'operate', payload: { ask: id }, by: tokenOf(value.by) } as const;
      const ticket = await jobs.ask(job);
      const wanted = { organization, id: ticket.id, until: 'ended', timeoutMs: ANSWER_MS, signal } as const;
      await demandDone(asks, ticket.id, await jobs.answerOf(wanted));
      return (await answerOf(name, await asks.answerOf(id), reader)) as never;
    },
  };
}

/** As the version before said it: by position. */
const POSITIONAL: { readonly [Name in Operation]: (said: readonly unknown[]) => object } = {
  approve: ([plan, by, reason, part, breakGlass]) => ({ plan, by, reason, part, breakGlass }),
  reject: ([plan, by, reason]) => ({ plan, by, reason }),
  apply: ([plan, by, breakGlass]) => ({ plan, by, breakGlass }),
  exempt: ([request, by]) => ({ request, by }),
  resolve: ([intent, as, operator]) => ({ intent, as, ...(operator as object) }),
  release: ([target, operator]) => ({ target, ...(operator as object) }),
  releaseRule: ([rule, by, reason]) => ({ rule, by, reason }),
};

/**
 * What was asked for, at the worker; it is answered in the form in which it was said. Errors: AppError `not_found`, `internal` for an operation that
 * this version does not have.
 */
export async function askedFor(
  asks: Pick<Asks, 'find'>,
  id: string,
): Promise<{ name: Operation; said: Said<Operation>; form: Kept['form'] }> {
  const { operation, said } = await asks.find(id);
  const { form, value } = said;
  const isOld = form === 'positional' && Array.isArray(value) && Object.hasOwn(SAID, operation);
  const named = isOld ? POSITIONAL[operation as Operation](value) : value;
  return { name: operation as Operation, said: saidOf(operation, named), form };
}

const id = z.string();
const refused = z.array(z.object({ action: z.string(), target: z.string(), reason: z.string() }));
const released = z.array(
  z.object({
    target: z.string(),
    action: z.string(),
    state: z.enum(['released', 'dry_run', 'standing']),
    text: z.string(),
    intent: id.optional(),
  }),
);
const covers = z.object({ kind: z.enum(SUBJECT_KINDS), count: z.number(), examples: z.array(z.string()) });

const PLAN_ANSWER = z.object({
  plan: id,
  rest: id.optional(),
  applied: z.object({ intents: z.array(id), refused, needless: refused.optional() }).optional(),
});
const EXEMPTED = z.object({ exemption: id, covers: covers.optional(), released });
const RESOLVED = z.object({ intent: id });
const RELEASED = z.object({ released });
const PLANNED_RELEASE = z.object({
  plan: id,
  matching: z.number(),
  kept: z.array(z.object({ action: z.string(), target: z.string(), rules: z.array(z.string()) })),
});

interface AnswerForm<Name extends Operation> {
  keep(done: Done<Name>): object;
  read(value: unknown, reader: AnswerReader): Promise<Done<Name>>;
}

const planAnswer = {
  keep: ({ plan, rest, applied }: PlanAnswer) => ({
    plan: plan.id,
    rest: rest?.id,
    applied: applied && { ...applied, intents: applied.intents.map((intent) => intent.id) },
  }),
  read: async (value: unknown, reader: AnswerReader): Promise<PlanAnswer> => {
    const { plan, rest, applied } = PLAN_ANSWER.parse(value);
    return {
      plan: await planIn(reader, plan),
      ...(rest !== undefined && { rest: await planIn(reader, rest) }),
      ...(applied && { applied: { ...applied, intents: await intentsIn(reader, applied.intents) } }),
    };
  },
};

const ANSWERS: { readonly [Name in Operation]: AnswerForm<Name> } = {
  approve: planAnswer,
  reject: planAnswer,
  apply: planAnswer,
  exempt: {
    keep: ({ exemption, covers, released }) => ({
      exemption: exemption.id,
      covers,
      released: released.map(keptRelease),
    }),
    read: async (value, reader) => {
      const { exemption, covers, released } = EXEMPTED.parse(value);
      const found = await reader.exemption(exemption);
      if (!found) throw goneSince('exemption', exemption);
      return { exemption: found, covers, released: await releasedIn(reader, released) };
    },
  },
  resolve: {
    keep: ({ id }) => ({ intent: id }),
    read: async (value, reader) => {
      const { intent } = RESOLVED.parse(value);
      const [found] = await intentsIn(reader, [intent]);
      if (!found) throw goneSince('intent', intent);
      return found;
    },
  },
  release: {
    keep: (all) => ({ released: all.map(keptRelease) }),
    read: async (value, reader) => releasedIn(reader, RELEASED.parse(value).released),
  },
  releaseRule: {
    keep: ({ plan, matching, kept }) => ({ plan: plan.id, matching, kept }),
    read: async (value, reader) => {
      const { plan, ...others } = PLANNED_RELEASE.parse(value);
      return { plan: await planIn(reader, plan), ...others };
    },
  },
};

/** What was done, as it is kept for whoever asked. */
export function keptAnswer<Name extends Operation>(name: Name, done: Done<Name>): object {
  return (ANSWERS[name] as AnswerForm<Name>).keep(done);
}

async function answerOf<Name extends Operation>(name: Name, kept: Kept, reader: AnswerReader): Promise<Done<Name>> {
  if (kept.form === 'positional')
    throw new AppError('internal', 'a worker of another version answered: update the workers first');
  return (ANSWERS[name] as AnswerForm<Name>).read(kept.value, reader);
}

function keptRelease({ intent, ...released }: Released): object {
  return { ...released, intent: intent?.id };
}

async function releasedIn(reader: AnswerReader, all: z.output<typeof released>): Promise<Released[]> {
  const intents = await intentsIn(
    reader,
    all.flatMap(({ intent }) => intent ?? []),
  );
  return all.map((one) => ({ ...one, intent: intents.find(({ id }) => id === one.intent) }));
}

async function planIn(reader: AnswerReader, plan: string): Promise<Plan> {
  const found = await reader.plan(plan);
  if (!found) throw goneSince('plan', plan);
  return found;
}

/** In the order of the ids. */
async function intentsIn(reader: AnswerReader, ids: readonly string[]): Promise<Intent[]> {
  if (ids.length === 0) return [];
  const found = new Map((await reader.intents({ ids: [...ids] })).map((intent) => [intent.id, intent]));
  return ids.flatMap((one) => found.get(one) ?? []);
}

function goneSince(what: string, id: string): AppError {
  return new AppError('not_found', `it was done, and ${what} \`${id}\` is no longer in the record`);
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
