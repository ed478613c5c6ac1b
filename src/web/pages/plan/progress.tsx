// web: how far applying a plan is or came, and the button that begins or continues it. In: a plan. Out: a part that reads itself again
// while the plan is applied.
import type { Plan, PlanProgress } from '../../../domain/plan.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { countText } from '../../../report/fact-text.ts';
import { Words } from '../../../report/html/text.tsx';
import { reportPlan } from '../../../report/plan-view.ts';
import { appliedWords } from '../../../report/plan-words.ts';
import { progressWords } from '../../../report/words.ts';
import { Act } from '../../parts/act.tsx';
import { BreakGlass, pathOf } from './answer-form.tsx';

interface ProgressProps {
  deps: HttpDeps;
  plan: Plan;
  mayApply: boolean;
  /** It may be let through the change window in force. */
  canBreak: boolean;
}

export async function Progress({ deps, plan, mayApply, canBreak }: ProgressProps) {
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
            label={status === 'approved' ? 'Apply' : 'Continue'}
            tone="main"
            fields={{ digest: plan.digest }}
            confirm={`Apply this plan now (${plan.intents.length})?`}
            {...(canBreak && { reason: 'optional' as const })}
          >
            {canBreak ? <BreakGlass /> : null}
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
