// web: an answer to a plan as a form, and the page when somebody was there first. In: the plan that is answered. Out: the way to the plan
// that has the answer; otherwise 409 that names who answered, when and how, with a link to it.

import { AppError } from '../../../domain/errors.ts';
import type { Plan } from '../../../domain/plan.ts';
import { differenceFrom, successorText } from '../../../domain/plan-content.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { type Ctx, leadTo, param, type Route } from '../../../http/route.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import { Words } from '../../../report/html/text.tsx';
import { answerPage } from '../../answer.tsx';
import { pathOf } from './answer-form.tsx';
import { AnswerFact, Successors } from './head.tsx';

/** Errors: AppError `not_found`; `usage` for a beginning that fits several. */
export async function foundPlan({ reader }: Pick<HttpDeps, 'reader'>, context: Ctx): Promise<Plan> {
  const id = param(context, 'id');
  const plan = await reader.plan(id);
  if (!plan) throw new AppError('not_found', `there is no plan \`${id}\`: \`/plans\` lists them`);
  return plan;
}

/** `answer` returns the id of the plan to show. */
export function answerRoute(
  deps: HttpDeps,
  path: string,
  answer: (context: Ctx, plan: Plan) => Promise<string>,
): Route {
  return {
    method: 'POST',
    path,
    scope: 'approve',
    handle: async (context) => {
      try {
        return leadTo(context, pathOf({ id: await answer(context, await foundPlan(deps, context)) }));
      } catch (error) {
        const plan = await deps.reader.plan(param(context, 'id'));
        if (!plan || !(error instanceof AppError && error.code === 'conflict')) throw error;
        return answerPage(deps, context, await conflictPage(deps, plan, error.message), 409);
      }
    },
  };
}

async function conflictPage({ reader }: HttpDeps, plan: Plan, why: string) {
  const { id, status, supersededBy } = plan;
  const isReplaced = status === 'superseded' && supersededBy !== undefined;
  const text = isReplaced ? successorText(supersededBy, await differenceFrom(reader, plan)) : undefined;
  // An answer to a part of it is on the plan of that part.
  const parts = await Promise.all((supersededBy ?? []).map((one) => reader.plan(one)));
  const answered = parts.filter((part) => part !== undefined && part.decidedAt !== undefined) as Plan[];
  return {
    title: 'Your answer was not used',
    section: '/plans' as const,
    body: (
      <article class="card">
        <h1>Your answer was not used</h1>
        <p>
          <Words>{why}</Words>
        </p>
        <dl class="facts">
          <dt>status</dt>
          <dd>
            <Mark word={status} />
          </dd>
          <AnswerFact plan={plan} />
          {answered.map((part) => (
            <AnswerFact plan={part} />
          ))}
        </dl>
        <Successors text={text} ids={supersededBy ?? []} />
        <p>
          <Link href={pathOf(plan)}>Plan {id} as it is now</Link>
        </p>
      </article>
    ),
  };
}
