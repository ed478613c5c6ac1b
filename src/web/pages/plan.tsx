// web: one plan: exactly what approving it does, by rule and action, the answer of a person, and how it is applied. In: the store, and the
// ports that answer a plan. Out: a page; after an answer the plan, or the part, that has it.

import { z } from 'zod';
import { DRIFT_TARGETS_MAX } from '../../domain/drift.ts';
import { AppError } from '../../domain/errors.ts';
import type { Plan, PlanSelection } from '../../domain/plan.ts';
import { demandScope } from '../../http/auth.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { listField, readForm } from '../../http/form.ts';
import { givenText, positionField, readQuery } from '../../http/input.ts';
import { pageAsked } from '../../http/mount.ts';
import type { Ctx, Route } from '../../http/route.ts';
import { countText } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { mayDo, readPage } from '../answer.tsx';
import { Live } from '../parts/live.tsx';
import { AnswerForm, pathOf } from './plan/answer-form.tsx';
import { Answering } from './plan/answering.ts';
import { answerRoute, foundPlan } from './plan/conflict.tsx';
import { DriftTable, driftOf } from './plan/drift.tsx';
import { groupsOf, type PlanQuery, rulesOf } from './plan/groups.ts';
import { canBeCalled, freezeOn, kindsOf, PlanHead } from './plan/head.tsx';
import { Progress } from './plan/progress.tsx';
import { storiesOf } from './plan/stories.ts';
import { Group } from './plan/targets.tsx';

const LIVE = 'plan intent stop';

const text = z.string().max(1_000).optional();
const shown = { q: text, group: positionField.optional(), from: positionField.optional() };
const query = z.strictObject(shown);
const driftQuery = z.strictObject({ ...shown, rows: z.coerce.number().int().min(1).max(DRIFT_TARGETS_MAX).optional() });
const digest = z.string().max(100);
const approveForm = z.strictObject({
  digest,
  reason: givenText.optional(),
  choice: z.string().max(100_000),
  breakGlass: z.literal('yes').optional(),
  target: listField(z.string().max(100)),
});
const rejectForm = z.strictObject({ digest, reason: givenText });
const applyForm = z.strictObject({
  digest,
  reason: givenText.optional(),
  breakGlass: z.literal('yes').optional(),
});

export function planPages(deps: HttpDeps): Route[] {
  const answering = new Answering(deps);
  const { plans } = deps;
  return [
    readPage(deps, '/plans/:id', async (context) => {
      const plan = await foundPlan(deps, context);
      return {
        title: `Plan ${plan.id}`,
        section: '/plans',
        live: LIVE,
        body: await body(deps, answering, context, plan, readQuery(context, query)),
      };
    }),
    readPage(deps, '/plans/:id/drift', async (context) => {
      const plan = await foundPlan(deps, context);
      const asked = readQuery(context, driftQuery);
      const id = `drift-${asked.group ?? 0}-${asked.from ?? 0}`;
      return {
        title: `Plan ${plan.id}, compared with now`,
        section: '/plans',
        body: (
          <>
            <h1>Plan {plan.id}, compared with now</h1>
            <section class="card">
              <DriftTable id={id} drifts={await driftOf(deps, plan, asked)} />
              <Link href={pathOf(plan)}>Plan {plan.id}</Link>
            </section>
          </>
        ),
      };
    }),
    answerRoute(deps, '/plans/:id/approve', async (context, plan) => {
      const form = await readForm(context, approveForm);
      demandSeen(plan, form.digest);
      demandPending(plan);
      const part = partOf(plan, form.choice, new Set(form.target));
      const by = context.var.caller.name;
      const glass = demandGlass(context, form);
      return answering.begin(plan.id, 'approve', by, () =>
        plans.approve(plan.id, by, form.reason, part, glass !== undefined),
      );
    }),
    answerRoute(deps, '/plans/:id/reject', async (context, plan) => {
      const form = await readForm(context, rejectForm);
      demandSeen(plan, form.digest);
      demandPending(plan);
      const by = context.var.caller.name;
      return answering.begin(plan.id, 'reject', by, () => plans.reject(plan.id, by, form.reason));
    }),
    answerRoute(deps, '/plans/:id/apply', async (context, plan) => {
      const form = await readForm(context, applyForm);
      demandSeen(plan, form.digest);
      const by = context.var.caller.name;
      const glass = demandGlass(context, form);
      return answering.begin(plan.id, 'apply', by, () => plans.apply(plan.id, by, glass));
    }),
  ];
}

async function body(deps: HttpDeps, answering: Answering, context: Ctx, plan: Plan, asked: PlanQuery) {
  const { status } = plan;
  const canAnswer = status === 'pending' && mayDo(context, 'approve');
  const canBreak = mayDo(context, 'admin') && freezeOn(deps, plan) !== undefined;
  const groups = groupsOf(plan, asked);
  const stories = await storiesOf(
    deps,
    plan,
    groups.flatMap(({ intents }) => intents),
  );
  const rows = groups.reduce((sum, { intents }) => sum + intents.length, 0);
  const hasDrift = canBeCalled(plan);
  const shown = { plan, kindOf: kindsOf(deps), query: asked, canAnswer, hasDrift, stories };
  // What a person is filling in, and what is compared with now, stays while the plan has the same status.
  const stays = status === 'applying' || status === 'applied' ? undefined : 'true';
  return (
    <>
      <h1>Plan {plan.id}</h1>
      <Live id="plan" on={LIVE} path={pageAsked(context)}>
        <PlanHead deps={deps} answering={answering} plan={plan} />
        <Progress deps={deps} plan={plan} mayApply={mayDo(context, 'approve')} canBreak={canBreak} />
        {canAnswer ? <AnswerForm plan={plan} paged={rows < plan.intents.length} canBreak={canBreak} /> : null}
        <div id={`targets-${status}`} hx-preserve={stays}>
          <Search plan={plan} asked={asked} isWhole={rows === plan.intents.length} />
          {groups.map((group) => (
            <Group group={group} shown={shown} />
          ))}
        </div>
      </Live>
    </>
  );
}

/** For a plan that is longer than a page. */
function Search({ plan, asked, isWhole }: { plan: Plan; asked: PlanQuery; isWhole: boolean }) {
  const isPart = asked.q !== undefined || asked.group !== undefined;
  if (isWhole && !isPart) return null;
  return (
    <Form method="get" action={pathOf(plan)} class="act">
      <label>
        Find in this plan{' '}
        <input type="search" name="q" value={asked.q} maxlength={1000} placeholder="Target, name, owner" />
      </label>
      <button type="submit">Find</button>
      {isPart ? <Link href={pathOf(plan)}>All {countText(plan.intents.length)} of it</Link> : null}
    </Form>
  );
}

/** Why it may go through the change windows; undefined: it is not asked. Errors: AppError `usage` without a reason, Problem 403. */
function demandGlass(
  context: Ctx,
  { breakGlass, reason }: { breakGlass?: 'yes' | undefined; reason?: string | undefined },
): { reason: string } | undefined {
  if (breakGlass === undefined) return undefined;
  demandScope(context.var.caller, 'admin');
  if (reason === undefined) throw new AppError('usage', 'break glass needs a reason: say why the plan may not wait');
  return { reason };
}

/** A person answers what they saw. Errors: AppError `conflict`. */
function demandSeen(plan: Plan, seen: string): void {
  if (plan.digest === seen) return;
  throw new AppError('conflict', `plan ${plan.id} is not what your page showed: nothing was done; read it again`);
}

/** Of two who answer, the second learns it at once; the port asks again in its turn. Errors: AppError `conflict`. */
function demandPending({ id, status }: Plan): void {
  if (status === 'pending') return;
  throw new AppError('conflict', `plan ${id} is ${status} by now and no longer waits: nothing was changed`);
}

/** Errors: AppError `usage` for a choice that names nothing. */
function partOf(plan: Plan, choice: string, ticked: ReadonlySet<string>): PlanSelection {
  const whole = { rules: [], only: [], except: [] };
  if (choice === 'all') return whole;
  if (choice === 'only' || choice === 'except') {
    if (ticked.size === 0) throw new AppError('usage', 'nothing is ticked: tick targets of the plan, or approve all');
    const isOnly = choice === 'only';
    return { ...whole, keys: keysOf(plan, ({ key }) => ticked.has(key) === isOnly) };
  }
  const [kind, ...rules] = choice.split(' ');
  if (kind !== 'rules') throw new AppError('usage', `\`choice\` is \`${choice}\`: expected all, only, except or rules`);
  const wanted = rules.join(' ');
  return { ...whole, keys: keysOf(plan, (one) => rulesOf(one).join(' ') === wanted) };
}

function keysOf({ intents }: Plan, isChosen: (intent: Plan['intents'][number]) => boolean): string[] {
  return intents.filter(isChosen).map(({ key }) => key);
}
