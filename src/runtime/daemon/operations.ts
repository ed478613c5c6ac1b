// What a person commands that calls something, or changes the basis of a run: by name, so that it can be asked for in one process and done in
// another. In: the engine, what the person said, as named JSON. Out: what was done. INVARIANT: each has its turn among runs and other commands (`Turns`).

import { z } from 'zod';
import { pathText, wordsOf } from '../../base/text.ts';
import { AppError } from '../../domain/errors.ts';
import { RESOLUTIONS } from '../../domain/intent.ts';
import type { Progress, ProgressStep, WorkProgress } from '../../domain/replay.ts';
import { isLive } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import { exempt } from '../../engine/operate/exempt.ts';
import { freezeOf, isHeldWhole } from '../../engine/operate/plan-drift.ts';
import { answerPlan, applyPlan, approvePart } from '../../engine/operate/plans.ts';
import { planRelease, releaseClaims } from '../../engine/operate/release.ts';
import { resolveIntent } from '../../engine/operate/resolve-intent.ts';
import type { Engine } from '../../engine/run/engine.ts';
import type { PlanAnswer, RunUnderWay } from '../../faces/http/deps.ts';
import type { RunQueue } from '../schedule/run-queue.ts';

// The run or the applied plan that the daemon has under way, and how far it is, for people.

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

/** What an operation is done with. */
interface Acting {
  engine: Engine;
  underWay: Pick<UnderWay, 'beginPlan' | 'end'>;
}

const text = z.string();
const texts = z.array(text);
const reason = text.optional();
const who = { by: text, reason: text };

/** What is said of each operation. It crosses processes as JSON, and is parsed by these schemas at both ends. */
export const SAID = {
  approve: z.strictObject({
    plan: text,
    by: text,
    reason,
    part: z.strictObject({ rules: texts, only: texts, except: texts, keys: texts.optional() }),
    breakGlass: z.boolean().default(false),
  }),
  reject: z.strictObject({ plan: text, by: text, reason }),
  apply: z.strictObject({ plan: text, by: text, breakGlass: z.strictObject({ reason: text }).optional() }),
  exempt: z.strictObject({
    request: z.strictObject({
      subject: z.strictObject({ kind: text.optional(), id: text }).optional(),
      selector: z.strictObject({ field: text, value: text }).optional(),
      unseen: z.boolean(),
      owner: text,
      reason: text,
      until: text,
      release: z.boolean(),
      acceptForgeable: z.boolean().exactOptional(),
    }),
    by: text,
  }),
  resolve: z.strictObject({ intent: text, as: z.enum(RESOLUTIONS), ...who }),
  release: z.strictObject({ target: text, ...who }),
  releaseRule: z.strictObject({ rule: text, by: text, reason }),
};

export type Operation = keyof typeof SAID;
export type Said<Name extends Operation> = z.output<(typeof SAID)[Name]>;

/** Errors: AppError `internal` for an operation, or a form of it, that this version does not have. */
export function saidOf<Name extends Operation>(name: Name, value: unknown): Said<Name>;
export function saidOf(name: string, value: unknown): Said<Operation>;
export function saidOf(name: string, value: unknown): Said<Operation> {
  const schema = Object.hasOwn(SAID, name) ? SAID[name as Operation] : undefined;
  const parsed = schema?.safeParse(value);
  if (parsed?.success) return parsed.data;
  const issue = parsed?.error.issues[0];
  const fault = issue ? `: \`${pathText(issue.path)}\` ${wordsOf(issue, value)}` : '';
  throw new AppError(
    'internal',
    `this worker does not know the operation \`${name}\`${fault}: it is of another version`,
  );
}

const OPERATIONS = {
  approve: async (acting: Acting, { plan: id, by, reason, part, breakGlass }: Said<'approve'>): Promise<PlanAnswer> => {
    const { engine } = acting;
    const { plan, rest } = await approvePart(engine, id, part, by, reason, breakGlass);
    if (breakGlass) void engine.afterwards?.();
    const isStopped = (await engine.store.stop()) !== undefined;
    const freeze = (await freezeOf(engine, plan))();
    const isHeld = !isLive(engine.daemonMode) || isStopped || isHeldWhole(engine, plan, freeze);
    return { rest, ...(isHeld ? { plan } : await applied(acting, { plan: plan.id, by })) };
  },
  reject: async ({ engine }: Acting, { plan, by, reason }: Said<'reject'>): Promise<PlanAnswer> => ({
    plan: await answerPlan(engine, plan, 'reject', by, reason),
  }),
  apply: applied,
  exempt: ({ engine }: Acting, { request, by }: Said<'exempt'>) => exempt(engine, request, by),
  resolve: ({ engine }: Acting, { intent, as, ...operator }: Said<'resolve'>) =>
    resolveIntent(engine, intent, as, operator),
  release: ({ engine }: Acting, { target, ...operator }: Said<'release'>) => releaseClaims(engine, target, operator),
  releaseRule: ({ engine }: Acting, { rule, by, reason }: Said<'releaseRule'>) => planRelease(engine, rule, by, reason),
};

export type Done<Name extends Operation> = Awaited<ReturnType<(typeof OPERATIONS)[Name]>>;

/** Does an operation in its turn. Errors: those of the operation; AppError `busy` when too much waits, `stopped` when the process ends. */
export interface Turns {
  operate<Name extends Operation>(name: Name, said: z.input<(typeof SAID)[Name]>): Promise<Done<Name>>;
}

/** Errors: those of the operation. */
export function perform<Name extends Operation>(acting: Acting, name: Name, said: Said<Name>): Promise<Done<Name>> {
  const operation = OPERATIONS[name] as unknown as (acting: Acting, said: Said<Name>) => Promise<Done<Name>>;
  return operation(acting, said);
}

/** Turns in this process. */
export function turnsIn(queue: Pick<RunQueue, 'inTurn'>, acting: Acting): Turns {
  return {
    operate: (name, said) => {
      const parsed = saidOf(name, said);
      return queue.inTurn('operator', parsed.by, () => perform(acting, name, parsed));
    },
  };
}

async function applied({ engine, underWay }: Acting, { plan: id, by, breakGlass }: Said<'apply'>): Promise<PlanAnswer> {
  underWay.beginPlan(id);
  try {
    const { plan, ...rest } = await applyPlan(engine, id, by, breakGlass);
    return { plan, applied: rest };
  } finally {
    underWay.end();
  }
}
