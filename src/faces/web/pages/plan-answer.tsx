// web: a plan and its answer: what approving it allows, who answered, when it ends and what holds it back, and the forms with which a person
// answers. In: the plan, and what is in force now. Out: elements.

import type { Child } from 'hono/jsx';
import { z } from 'zod';
import { PLANS } from '../../../contract/plans.ts';
import { actorText } from '../../../domain/actor.ts';
import { needsOf } from '../../../domain/approvals.ts';
import { freezeText, type WindowNow, windowAt } from '../../../domain/change-window.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { GIVEN_TEXT_MAX, stopText } from '../../../domain/operator.ts';
import { withPasskey } from '../../../domain/passkey.ts';
import {
  carriedTimes,
  changeSince,
  changeText,
  differenceFrom,
  differenceText,
  type Plan,
  type PlannedIntent,
  type PlanProgress,
  type PlanStatus,
  plannedCounts,
  releasedRule,
  successorText,
} from '../../../domain/plan.ts';
import { isLive } from '../../../domain/rule.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { listField } from '../../http/route.ts';
import { allowedWords } from '../../report/build-report.ts';
import { evidenceOfPlan } from '../../report/evidence-words.ts';
import { asSentence, countText } from '../../report/fact-text.ts';
import { grouped } from '../../report/grouped.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { By, Code, Lines, Mark, When, Words } from '../../report/html/text.tsx';
import { planTitle } from '../../report/inbox.ts';
import { approvalWords, droppedWords, kindWordsOf } from '../../report/plan-text.ts';
import { appliedWords, reportPlan } from '../../report/plan-view.ts';
import { isGrave } from '../../report/state-now.ts';
import { notLiftedWords, progressWords } from '../../report/words.ts';
import { within } from '../address.ts';
import { Act, Said } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';
import { Left } from './plan-since.tsx';
import { FORM, LARGE, pathOf, wordToType } from './plan-target.tsx';

// An answer to a plan that may take long: it waits for its turn, and applies the plan.

export type Verb = 'approve' | 'reject' | 'apply';

/** An answer under way, or what came of it after the person was shown the plan. */
interface LateAnswer {
  verb: Verb;
  by: string;
  at: number;
  /** Both are undefined while it is under way. `done`: the plan that has the answer, of a part its own one. */
  failed?: string;
  done?: string;
}

const SOON_MS = 1_000;
const LATE_MAX = 100;

export class Answering {
  private readonly late = new Map<string, LateAnswer>();

  constructor(private readonly deps: Pick<HttpDeps, 'clock' | 'log' | 'stream'>) {}

  of(planId: string): LateAnswer | undefined {
    return this.late.get(planId);
  }

  /** Returns the id of the plan that shows the answer. Errors: those of the work, when they come at once; AppError `conflict`. */
  async begin(planId: string, verb: Verb, by: string, work: () => Promise<{ id: string }>): Promise<string> {
    this.demandNoOther(planId);
    const answer: LateAnswer = { verb, by, at: this.deps.clock.nowMs() };
    this.late.set(planId, answer);
    const ended = work().finally(() => this.late.delete(planId));
    const soon = await within(this.deps, SOON_MS, ended);
    if (soon) return soon.id;
    void ended.then(
      ({ id }) => id !== planId && this.came(planId, { ...answer, done: id }),
      (error: unknown) => this.failed(planId, answer, error),
    );
    return planId;
  }

  /** Of two who answer at a time, the second learns who the first is. */
  private demandNoOther(planId: string): void {
    const other = this.late.get(planId);
    if (other === undefined || other.failed !== undefined || other.done !== undefined) return;
    const what = `plan ${planId} has an answer under way (${other.verb} by ${actorText(other.by)})`;
    throw new AppError('conflict', `${what}: nothing was done; look at the plan in a moment`);
  }

  private failed(planId: string, answer: LateAnswer, error: unknown): void {
    const failed = error instanceof AppError ? error.message : 'something went wrong inside: see the log';
    this.deps.log.error({ plan: planId }, `${answer.verb} of plan ${planId} failed: ${lineOf(error)}`);
    this.came(planId, { ...answer, failed });
  }

  private came(planId: string, answer: LateAnswer): void {
    const oldest = this.late.keys().next();
    if (this.late.size >= LATE_MAX && !oldest.done) this.late.delete(oldest.value);
    this.late.set(planId, answer);
  }
}

// What a plan and a group of it are called, and why they wait.

export function titleOf(plan: Plan): string {
  return planTitle(plannedCounts(plan));
}

export function actsTitle(intents: readonly PlannedIntent[]): string {
  return planTitle(plannedCounts({ intents }));
}

export async function PlanHead({ deps, answering, plan }: { deps: HttpDeps; answering: Answering; plan: Plan }) {
  const run = await deps.reader.run(plan.runId);
  const revisions = await deps.reader.planRevisions(plan.id);
  const nowMs = deps.clock.nowMs();
  // What is over, or was answered with no, ends no more.
  const needed = needsOf(plan, deps.rules());
  const isBare = [plan.decidedBy, plan.breakGlass, plan.agreed, needed].every((one) => one === undefined);
  const ends = plan.status === 'expired' ? 'expired' : canBeCalled(plan) ? 'expires' : undefined;
  return (
    <>
      <LateNotice answering={answering} plan={plan} />
      <section class="card">
        <p class="lead">
          <Mark word={plan.status} />{' '}
          {plan.dropped
            ? droppedWords(plan)
            : `${needed === undefined ? ALLOWS[plan.status] : ALLOWS_THEN} ${allowedWords(plan.intents, kindsOf(deps))}`}
        </p>
        <p class="quiet">
          Made <Ago at={(revisions[0] ?? plan).createdAt} nowMs={nowMs} />
          {ends === undefined ? null : (
            <>
              , {ends} <Ago at={plan.expiresAt} nowMs={nowMs} />
            </>
          )}
          .
        </p>
        {isBare && revisions.length === 0 ? null : (
          <dl class="facts">
            {revisions.length === 0 ? null : (
              <>
                <dt>{carriedTimes(plan, revisions) > 0 ? 'carried on' : 'changed'}</dt>
                <dd>
                  {carriedTimes(plan, revisions) > 0 ? (
                    <>
                      last by run {run?.seq ?? plan.runId}, <When at={plan.createdAt} />:{' '}
                    </>
                  ) : null}{' '}
                  {changeText(changeSince(revisions))} since it was made
                </dd>
              </>
            )}
            <AgreedFact plan={plan} needed={needed} />
            <AnswerFact plan={plan} />
            <GlassFact plan={plan} />
          </dl>
        )}
        {plan.status === 'superseded' ? await successors(deps, plan) : null}
        <Left revisions={revisions} />
        <details>
          <summary>Details</summary>
          <dl class="facts">
            <dt>plan</dt>
            <dd>
              <Code>{plan.id}</Code>
            </dd>
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
              <When at={(revisions[0] ?? plan).createdAt} />
            </dd>
            {ends === undefined ? null : (
              <>
                <dt>{ends}</dt>
                <dd>
                  <When at={plan.expiresAt} />
                </dd>
              </>
            )}
            <dt>digest</dt>
            <dd>
              <Code>{plan.digest}</Code>
            </dd>
          </dl>
          <Lines texts={approvalWords(plan, needed === undefined)} as="p" />
          {evidenceOfPlan(plan, deps.evidence).map(({ rule, text }) => (
            <p class="quiet">
              <Code>{rule}</Code>: {text}
            </p>
          ))}
        </details>
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

/** One yes may not be enough. */
const ALLOWS_THEN = 'With the yes that it needs, it allows Trustward to';

const DRY_WORDS =
  ': it holds everything that a live run would do. Approving and applying it does it: the mode of that run does not cap it, only those of the rules and the configured one do';

function isDryRuns(plan: Plan): boolean {
  return plan.mode === 'dry-run' && releasedRule(plan) === undefined;
}

export function kindsOf({ rules }: Pick<HttpDeps, 'rules'>) {
  const kinds = new Map(rules().map(({ id, subject }) => [id, subject]));
  return (rule: string) => kinds.get(rule);
}

/** The yes that approved it: it is shown as the answer. */
function lastYes({ agreed, decidedAt, decidedBy }: Plan) {
  return agreed?.given.find(({ at, by }) => at === decidedAt && by === decidedBy);
}

/** Where several people are asked: who has said yes before, and who is asked next. */
function AgreedFact({ plan, needed }: { plan: Plan; needed: string | undefined }) {
  const before = plan.agreed?.given.filter((yes) => yes !== lastYes(plan)) ?? [];
  return (
    <>
      {before.map(({ at, by, reason, touched }) => (
        <>
          <dt>yes</dt>
          <dd>
            <By>{by}</By>
            {withPasskey(touched)}, <When at={at} />
            <Because reason={reason} />
          </dd>
        </>
      ))}
      {needed === undefined ? null : (
        <>
          <dt>needs</dt>
          <dd>
            <Words>{needed}</Words>
          </dd>
        </>
      )}
    </>
  );
}

function Because({ reason }: { reason: string | undefined }) {
  if (reason === undefined) return null;
  return (
    <>
      : <Words>{reason}</Words>
    </>
  );
}

/** Who said yes or no. */
function AnswerFact({ plan }: { plan: Plan }) {
  const { decidedAt, decidedBy, decidedReason, status } = plan;
  if (decidedBy === undefined) return null;
  return (
    <>
      <dt>answered</dt>
      <dd>
        {status === 'rejected' ? 'rejected' : 'approved'} by <By>{decidedBy}</By>
        {withPasskey(lastYes(plan)?.touched)}
        {decidedAt === undefined ? null : (
          <>
            , <When at={decidedAt} />
          </>
        )}
        <Because reason={decidedReason} />
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
        let through by <By>{breakGlass.by}</By>
        {withPasskey(breakGlass.touched)}, <When at={breakGlass.at} />: <Words>{breakGlass.reason}</Words>
      </dd>
    </>
  );
}

/** The change window that holds it. */
export function freezeOn({ changeWindows = [], clock }: HttpDeps, plan: Plan): WindowNow | undefined {
  return plan.breakGlass === undefined ? windowAt(changeWindows, clock.nowMs()) : undefined;
}

/** What broken glass would lift of it now. */
export function liftedOf(deps: HttpDeps, plan: Plan): string[] {
  return [
    ...(freezeOn(deps, plan) ? ['through the change window'] : []),
    ...(needsOf(plan, deps.rules()) === undefined ? [] : ['without the yes of others']),
  ];
}

function LateNotice({ answering, plan }: { answering: Answering; plan: Plan }) {
  const late = answering.of(plan.id);
  if (late === undefined) return null;
  const what = { approve: 'The approval', reject: 'The rejection', apply: 'Applying' }[late.verb];
  if (late.done !== undefined)
    return (
      <div class="notice good" role="status">
        {what} by <By>{late.by}</By> (<When at={late.at} />) is in a{' '}
        <Link href={pathOf({ id: late.done })}>plan of its own</Link>.
      </div>
    );
  return (
    <div class={`notice ${late.failed === undefined ? 'wait' : 'bad'}`} role="status">
      {what} by <By>{late.by}</By> (<When at={late.at} />){' '}
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

/** What is in its place, and how that differs. */
async function successors({ reader }: HttpDeps, plan: Plan) {
  const { supersededBy: ids } = plan;
  if (ids === undefined) return null;
  if (ids.length === 0) return <p>It is superseded by {successorText(ids, null)}.</p>;
  return (
    <p>
      It is superseded by{' '}
      {ids.map((id, at) => (
        <>
          {at > 0 ? ', ' : ''}
          <Link href={pathOf({ id })}>a later plan</Link>
        </>
      ))}
      {differenceText(await differenceFrom(reader, plan))}.
    </p>
  );
}

/** By reason and its words: how many of a group wait for it, and what ends it where no approval does. */
export function HeldBack({ intents }: { intents: readonly PlannedIntent[] }) {
  const byReason = grouped(
    intents.filter(({ held }) => held),
    ({ reason, reasonText }) => `${reason} ${reasonText}`,
  );
  const more = byReason.slice(REASONS_MAX).flat().length;
  if (byReason.length === 0) return null;
  return (
    <ul class="list">
      {byReason.slice(0, REASONS_MAX).map((held) => (
        <li>
          <Mark word="hold" text="waits" />{' '}
          {held.length === intents.length ? '' : `${countText(held.length)} of ${countText(intents.length)}: `}
          <Words>{held[0]?.reasonText || (held[0]?.reason ?? '')}</Words>. {notLiftedWords(held[0]?.reason ?? '') ?? ''}
        </li>
      ))}
      {more > 0 ? <li>{countText(more)} more wait: each has its reason.</li> : null}
    </ul>
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
  return null;
}

// The form: what is ticked, or no. The boxes among its targets belong to it. It sends the digest of what the person has seen.

export const formFields = {
  digest: z.string().max(100),
  reason: z.string().trim().max(GIVEN_TEXT_MAX).optional(),
  reference: z.string().trim().max(200).optional(),
  breakGlass: z.literal('yes').optional(),
  target: listField(z.string().max(100)),
  /** Also what its page does not show. */
  rest: z.literal('yes').optional(),
  typed: z.string().trim().max(200).optional(),
};
const formOf = z.object(formFields);
/** What a person has typed and ticked so far: nothing of it is an answer yet. */
export type Typed = z.infer<typeof formOf>;

interface AnswerFormProps {
  deps: HttpDeps;
  plan: Plan;
  /** What this page shows, and what it was narrowed to but shows no more of. */
  shown: readonly PlannedIntent[];
  rest: readonly PlannedIntent[];
  /** How the page was narrowed. */
  asked: Readonly<Record<string, string | number | undefined>>;
  /** What broken glass would lift of it now. */
  lifted: readonly string[];
  typed: Typed | undefined;
  /** Why an answer was not used: nothing was done. */
  mistake: string | undefined;
  /** What asks for a passkey. */
  touch: Child;
}

export function AnswerForm({ deps, plan, shown, rest, asked, lifted, typed, mistake, touch }: AnswerFormProps) {
  const all = plan.intents.length;
  const hasRest = typed ? typed.rest !== undefined : asked.from === undefined && asked.q === undefined;
  const word = wordToType([...shown, ...rest]);
  return (
    <>
      <section class="card" id="answer" hx-preserve="true" aria-labelledby="answer-title">
        <h2 id="answer-title" class="unseen">
          Your answer
        </h2>
        <Mistake>{mistake}</Mistake>
        <Form id={FORM} class="act" method="post" action={`${pathOf(plan)}/approve`}>
          {/* A form whose first button is disabled is not sent by Enter: no key alone approves anything. */}
          <button type="submit" disabled hidden></button>
          <input type="hidden" name="digest" value={plan.digest} />
          {Object.entries(asked).map(([name, value]) =>
            value === undefined ? null : <input type="hidden" name={name} value={String(value)} />,
          )}
          {rest.length === 0 ? null : (
            <label>
              <input
                type="checkbox"
                name="rest"
                value="yes"
                data-counts={String(rest.length)}
                data-typed={rest.some(({ action }) => isGrave(action)) ? wordToType(rest) : undefined}
                checked={hasRest}
              />{' '}
              and {countText(rest.length)} more that this page does not show
            </label>
          )}
          <Said
            of={PLANS.approvePlan}
            label="Answer"
            reason="optional"
            suggestion={typed?.reason}
            also={typed?.reference}
          />
          {lifted.length > 0 ? <BreakGlass lifted={lifted} /> : null}
          {touch}
          {word === undefined ? null : (
            <label id="ask" data-large={String(LARGE)}>
              <span>
                Type <b>{word}</b> to approve
              </span>
              <input type="text" name="typed" size={8} maxlength={200} autocomplete="off" value={typed?.typed} />
            </label>
          )}
          <button type="submit" class="main" data-of={String(all)}>
            Approve what is ticked
          </button>
          <button
            type="submit"
            class="danger"
            formaction={useAddress()(`${pathOf(plan)}/reject`)}
            formnovalidate
            data-confirm={`Reject ${all === 1 ? 'it' : `all ${countText(all)}`}?`}
          >
            Reject {all === 1 ? 'it' : 'all'}
          </button>
        </Form>
      </section>
      <p class="quiet">
        {whenApplied(deps, plan)} What is not ticked goes on waiting in this plan. Rejecting needs a reason and refuses
        all of it: each target is left alone until its rule stops matching and matches again.
      </p>
    </>
  );
}

/** Said where it was made. */
export function Mistake({ children }: { children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <Words>{`${asSentence(children)}.`}</Words>
    </div>
  );
}

function whenApplied(deps: HttpDeps, plan: Plan): string {
  if (!isLive(deps.daemonMode())) return '';
  if (needsOf(plan, deps.rules()) !== undefined) return 'It is applied when everybody who is asked has said yes.';
  return `${deps.isDaemon ? 'What you approve is applied at once' : 'A worker applies what you approve'}.`;
}

/** People are alerted of it at once, and the audit names who did it. */
function BreakGlass({ lifted }: { lifted: readonly string[] }) {
  return (
    <label>
      <input type="checkbox" name="breakGlass" value="yes" /> Break glass: {lifted.join(' and ')}, with a reason
    </label>
  );
}

// How far applying a plan is or came, and the button that begins or continues it.

interface ProgressProps {
  deps: HttpDeps;
  plan: Plan;
  mayApply: boolean;
  /** What broken glass would lift of it now. */
  lifted: readonly string[];
  /** What asks for a passkey. */
  touch: Child;
}

export async function Progress({ deps, plan, mayApply, lifted, touch }: ProgressProps) {
  const { status } = plan;
  if (status === 'pending' || status === 'rejected' || status === 'superseded' || status === 'expired') return null;
  const canApply = mayApply && (status === 'approved' || status === 'interrupted');
  const progress = status === 'approved' ? undefined : await deps.reader.planProgress(plan);
  return (
    <section class="card" aria-labelledby="progress-title">
      <h2 id="progress-title">{HEADS[status]}</h2>
      {progress === undefined ? <p>Nothing of it was begun yet.</p> : <Counts plan={plan} progress={progress} />}
      {status === 'interrupted' && progress ? (
        <p>
          <Words>{progressWords({ ...reportPlan(plan, [], plan.digest), progress }) ?? ''}</Words>
        </p>
      ) : null}
      {canApply ? (
        <>
          <Act
            to={`${pathOf(plan)}/apply`}
            of={PLANS.applyPlan}
            label={status === 'approved' ? 'Apply' : 'Continue'}
            tone="main"
            fields={{ digest: plan.digest }}
            confirm={`Apply this plan now (${plan.intents.length})?`}
            {...(lifted.length > 0 && { reason: 'optional' as const })}
          >
            {lifted.length > 0 ? <BreakGlass lifted={lifted} /> : null}
            {lifted.length > 0 ? touch : null}
          </Act>
          <p class="quiet">Each target is read again before its call, and one that differs is left out.</p>
        </>
      ) : null}
    </section>
  );
}

const HEADS = {
  approved: 'Approved, not applied',
  applying: 'Applying',
  applied: 'Applied',
  interrupted: 'Interrupted',
} as const;

function Counts({
  plan: { status, intents },
  progress: { outcomes, notBegun },
}: {
  plan: Plan;
  progress: PlanProgress;
}) {
  if (status === 'applied') return <p class="lead">{appliedWords(outcomes, notBegun.length)}.</p>;
  const all = intents.length;
  const begun = all - notBegun.length;
  const named = Object.entries(outcomes).map(
    ([outcome, count]) => `${countText(count)} ${outcome === 'unknown' ? 'under way or in doubt' : outcome}`,
  );
  return (
    <>
      <p class="lead">
        {countText(begun)} of {countText(all)} begun
        {named.length === 0 ? '' : `: ${named.join(', ')}`}, {countText(notBegun.length)} not begun or refused.
      </p>
      <meter min="0" max={String(all)} value={String(begun)} aria-label="Actions begun">
        {begun} of {all}
      </meter>
    </>
  );
}
