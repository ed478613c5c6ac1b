// web: the beginning of a plan's page: what approving it allows, who answered, when it ends, and what holds it back. In: the plan, and
// what is in force now. Out: elements.

import { freezeText, type WindowNow, windowAt } from '../../../domain/change-window.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { stopText } from '../../../domain/operator.ts';
import {
  differenceFrom,
  type Plan,
  type PlannedIntent,
  type PlanStatus,
  releasedRule,
  successorText,
} from '../../../domain/plan.ts';
import { isLive } from '../../../domain/rule.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { allowedWords } from '../../report/build-report.ts';
import { evidenceOfPlan } from '../../report/evidence-words.ts';
import { asSentence, countText, plural } from '../../report/fact-text.ts';
import { grouped } from '../../report/grouped.ts';
import { Link } from '../../report/html/link.tsx';
import { Code, Mark, Name, When, Words } from '../../report/html/text.tsx';
import { approvalWords, droppedWords, kindWordsOf } from '../../report/plan-text.ts';
import { notLiftedWords } from '../../report/words.ts';
import { within } from '../address.ts';

// An answer to a plan that may take long: it waits for its turn, and applies the plan.

type Verb = 'approve' | 'reject' | 'apply';

/** An answer under way, or one that failed after the person was shown the plan. */
interface LateAnswer {
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
  async begin(planId: string, verb: Verb, by: string, work: () => Promise<{ id: string }>): Promise<string> {
    this.demandNoOther(planId);
    const answer: LateAnswer = { verb, by, at: this.deps.clock.nowMs(), failed: undefined };
    this.late.set(planId, answer);
    const ended = work().finally(() => this.late.delete(planId));
    const soon = await within(this.deps, SOON_MS, ended);
    if (soon) return soon.id;
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

export async function PlanHead({ deps, answering, plan }: { deps: HttpDeps; answering: Answering; plan: Plan }) {
  const run = await deps.reader.run(plan.runId);
  return (
    <>
      <LateNotice answering={answering} plan={plan} />
      <section class="card">
        <p class="lead">
          <Mark word={plan.status} />{' '}
          {plan.dropped ? droppedWords(plan) : `${ALLOWS[plan.status]} ${allowedWords(plan.intents, kindsOf(deps))}`}
        </p>
        <dl class="facts">
          <dt>kind</dt>
          <dd>
            {kindWordsOf(plan.mode, releasedRule(plan))}
            {isDryRuns(plan) ? DRY_WORDS : ''}
          </dd>
          <dt>run</dt>
          <dd>
            {run === undefined ? <Code>{plan.runId}</Code> : <Link href={`/runs/${run.seq}`}>run {run.seq}</Link>}
          </dd>
          <dt>made</dt>
          <dd>
            <When at={plan.createdAt} />
          </dd>
          <dt>{plan.status === 'expired' ? 'expired' : 'expires'}</dt>
          <dd>
            <When at={plan.expiresAt} />
          </dd>
          <AnswerFact plan={plan} />
          <GlassFact plan={plan} />
          <dt>digest</dt>
          <dd>
            <Code>{plan.digest}</Code>
          </dd>
        </dl>
        <Successors text={await successors(deps, plan)} ids={plan.supersededBy ?? []} />
        {approvalWords(plan).map((text) => (
          <p>
            <Words>{text}</Words>
          </p>
        ))}
        {evidenceOfPlan(plan, deps.evidence).map(({ rule, text }) => (
          <p class="quiet">
            <Code>{rule}</Code>: {text}
          </p>
        ))}
        {canBeCalled(plan) ? <HeldBack intents={plan.intents} /> : null}
      </section>
      <NowInForce deps={deps} plan={plan} stop={(await deps.reader.stop()) ?? null} />
    </>
  );
}

const ALLOWS: Record<PlanStatus, string> = {
  pending: 'Approving it allows Trustward to',
  approved: 'It allows Trustward to',
  applying: 'It allows Trustward to',
  interrupted: 'It allows Trustward to',
  applied: 'It allowed Trustward to',
  rejected: 'It proposed to',
  superseded: 'It proposed to',
  expired: 'It proposed to',
};

const DRY_WORDS =
  ': it holds everything that a live run would do. Approving and applying it does it: the mode of that run does not cap it, only those of the rules and the configured one do';

function isDryRuns(plan: Plan): boolean {
  return plan.mode === 'dry-run' && releasedRule(plan) === undefined;
}

export function kindsOf({ rules }: Pick<HttpDeps, 'rules'>) {
  const kinds = new Map(rules().map(({ id, subject }) => [id, subject]));
  return (rule: string) => kinds.get(rule);
}

/** Who said yes or no. */
export function AnswerFact({ plan: { decidedAt, decidedBy, decidedReason, status } }: { plan: Plan }) {
  if (decidedBy === undefined) return null;
  return (
    <>
      <dt>answered</dt>
      <dd>
        {status === 'rejected' ? 'rejected' : 'approved'} by <Name>{decidedBy}</Name>
        {decidedAt === undefined ? null : (
          <>
            , <When at={decidedAt} />
          </>
        )}
        {decidedReason === undefined ? null : (
          <>
            : <Words>{decidedReason}</Words>
          </>
        )}
      </dd>
    </>
  );
}

function GlassFact({ plan: { breakGlass } }: { plan: Plan }) {
  if (breakGlass === undefined) return null;
  return (
    <>
      <dt>break glass</dt>
      <dd>
        let through the change windows by <Name>{breakGlass.by}</Name>, <When at={breakGlass.at} />:{' '}
        <Words>{breakGlass.reason}</Words>
      </dd>
    </>
  );
}

/** The change window that holds it. */
export function freezeOn({ changeWindows = [], clock }: HttpDeps, plan: Plan): WindowNow | undefined {
  return plan.breakGlass === undefined ? windowAt(changeWindows, clock.nowMs()) : undefined;
}

function LateNotice({ answering, plan }: { answering: Answering; plan: Plan }) {
  const late = answering.of(plan.id);
  if (late === undefined) return null;
  const what = { approve: 'The approval', reject: 'The rejection', apply: 'Applying' }[late.verb];
  return (
    <div class={`notice ${late.failed === undefined ? 'wait' : 'bad'}`} role="status">
      {what} by <Name>{late.by}</Name> (<When at={late.at} />){' '}
      {late.failed === undefined ? (
        'is under way: it waits for a run under way to end, then the actions follow one after another.'
      ) : (
        <>
          failed: <Words>{late.failed}</Words>
        </>
      )}
    </div>
  );
}

/** Undefined unless others are in its place. */
async function successors({ reader }: HttpDeps, plan: Plan): Promise<string | undefined> {
  if (plan.status !== 'superseded' || plan.supersededBy === undefined) return undefined;
  return successorText(plan.supersededBy, await differenceFrom(reader, plan));
}

export function Successors({ text, ids }: { text: string | undefined; ids: readonly string[] }) {
  if (text === undefined) return null;
  return (
    <p>
      It is superseded by {text}.{' '}
      {ids.map((id) => (
        <>
          <Link href={`/plans/${encodeURIComponent(id)}`}>Plan {id}</Link>{' '}
        </>
      ))}
    </p>
  );
}

/** By reason and its words: how many wait for it, and what ends it where no approval does. */
function HeldBack({ intents }: { intents: readonly PlannedIntent[] }) {
  const byReason = grouped(
    intents.filter(({ held }) => held),
    ({ reason, reasonText }) => `${reason} ${reasonText}`,
  );
  const more = byReason.slice(REASONS_MAX).flat().length;
  if (byReason.length === 0) return null;
  return (
    <>
      <h2>What holds it</h2>
      <ul class="list">
        {byReason.slice(0, REASONS_MAX).map((held) => (
          <li>
            {countText(held.length)} held: <Words>{held[0]?.reasonText ?? ''}</Words>.{' '}
            {notLiftedWords(held[0]?.reason ?? '') ?? ''}
          </li>
        ))}
        {more > 0 ? <li>{countText(more)} more held: each target below has its reason.</li> : null}
      </ul>
    </>
  );
}

const REASONS_MAX = 8;

/** Something of it may still be called. */
export function canBeCalled({ status }: Plan): boolean {
  return status === 'pending' || status === 'approved' || status === 'interrupted';
}

type Stopped = Awaited<ReturnType<HttpDeps['reader']['stop']>> | null;

/** What becomes of an approved plan now. */
function NowInForce({ deps, plan, stop }: { deps: HttpDeps; plan: Plan; stop: Stopped }) {
  if (!canBeCalled(plan)) return null;
  const mode = deps.daemonMode();
  if (stop)
    return (
      <div class="notice wait">
        <Words>{stopText(stop)}</Words>. A plan can be approved; nothing of it is called. It is applied after resuming.
      </div>
    );
  const freeze = freezeOn(deps, plan);
  if (freeze)
    return (
      <div class="notice wait">
        <Words>{asSentence(freezeText(freeze))}</Words>. A plan can be approved; of it, only undoing is done. The rest
        is applied after the window, or now with break glass.
      </div>
    );
  if (!isLive(mode))
    return (
      <div class="notice wait">
        The configured mode is <Mark word={mode} />: nothing is applied, and an approved plan waits. Set mode approve or
        enforce to apply the plan.
      </div>
    );
  if (plan.status !== 'pending') return null;
  return (
    <div class="notice">
      The configured mode is <Mark word={mode} />:{' '}
      {deps.isDaemon ? 'what you approve is applied at once' : 'a worker applies what you approve'} (
      {plural(plan.intents.length, 'action')} at most).
    </div>
  );
}
