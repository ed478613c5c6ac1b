// web: an answer to a plan that may take long: it waits for its turn, and applies the plan. In: the work. Out: its answer if it comes at
// once, otherwise where to look meanwhile; a failure that comes later is logged and shown at the plan.
import { AppError, lineOf } from '../../../domain/errors.ts';
import type { Plan } from '../../../domain/plan.ts';
import type { HttpDeps, PlanAnswer } from '../../../http/deps.ts';
import { within } from '../../within.ts';

export type Verb = 'approve' | 'reject' | 'apply';

/** An answer under way, or one that failed after the person was shown the plan. */
export interface LateAnswer {
  verb: Verb;
  by: string;
  at: number;
  /** Undefined while it is under way. */
  failed: string | undefined;
}

const SOON_MS = 1_000;
const FAILED_MAX = 100;

export class Answering {
  private readonly late = new Map<string, LateAnswer>();

  constructor(private readonly deps: Pick<HttpDeps, 'clock' | 'log' | 'reader' | 'stream'>) {}

  of(planId: string): LateAnswer | undefined {
    return this.late.get(planId);
  }

  /** Returns the id of the plan that shows the answer. Errors: those of the work, when they come at once; AppError `conflict`. */
  async begin(planId: string, verb: Verb, by: string, work: () => Promise<PlanAnswer>): Promise<string> {
    this.demandNoOther(planId);
    const answer: LateAnswer = { verb, by, at: this.deps.clock.nowMs(), failed: undefined };
    this.late.set(planId, answer);
    const ended = work().finally(() => this.late.delete(planId));
    const soon = await within(this.deps, SOON_MS, ended);
    if (soon) return soon.plan.id;
    void ended.catch((error: unknown) => this.failed(planId, answer, error));
    return this.placeOf(planId);
  }

  /** Of two who answer at a time, the second learns who the first is. */
  private demandNoOther(planId: string): void {
    const other = this.late.get(planId);
    if (other === undefined || other.failed !== undefined) return;
    const what = `plan ${planId} has an answer under way (${other.verb} by ${other.by})`;
    throw new AppError('conflict', `${what}: nothing was done; look at the plan in a moment`);
  }

  private async failed(planId: string, answer: LateAnswer, error: unknown): Promise<void> {
    const failed = error instanceof AppError ? error.message : 'something went wrong inside: see the log';
    this.deps.log.error({ plan: planId }, `${answer.verb} of plan ${planId} failed: ${lineOf(error)}`);
    const oldest = this.late.keys().next();
    if (this.late.size >= FAILED_MAX && !oldest.done) this.late.delete(oldest.value);
    this.late.set(await this.placeOf(planId).catch(() => planId), { ...answer, failed });
  }

  /** An approved part is a plan of its own. */
  private async placeOf(planId: string): Promise<string> {
    const plan = await this.deps.reader.plan(planId);
    const successors = await Promise.all((plan?.supersededBy ?? []).map((id) => this.deps.reader.plan(id)));
    return successors.find(isAnswered)?.id ?? planId;
  }
}

function isAnswered(plan: Plan | undefined): boolean {
  return plan !== undefined && plan.decidedAt !== undefined;
}
