// web: the forms with which a person answers a plan: all of it, the ticked part, all but that, one rule's; or no. In: a plan. Out: forms;
// the boxes and buttons among its targets belong to the first. Each sends the digest of what the person has seen.

import type { Plan } from '../../../domain/plan.ts';
import { countText, plural } from '../../../report/fact-text.ts';
import { Form } from '../../../report/html/link.tsx';
import { Act } from '../../parts/act.tsx';

export const FORM = 'approve';

export function pathOf({ id }: Pick<Plan, 'id'>): string {
  return `/plans/${encodeURIComponent(id)}`;
}

/** `paged`: not all of its targets are on this page. `canBreak`: it may be let through the change window in force. */
export function AnswerForm({ plan, paged, canBreak }: { plan: Plan; paged: boolean; canBreak: boolean }) {
  const all = plan.intents.length;
  return (
    <section class="card" id="answer" hx-preserve="true" aria-labelledby="answer-title">
      <h2 id="answer-title">Your answer</h2>
      <Form id={FORM} class="act" method="post" action={`${pathOf(plan)}/approve`}>
        {/* A form whose first button is disabled is not sent by Enter: no key alone approves everything. */}
        <button type="submit" disabled hidden></button>
        <input type="hidden" name="digest" value={plan.digest} />
        <label>
          <span class="unseen">Reason to approve</span>
          <input type="text" name="reason" placeholder={canBreak ? 'Reason' : 'Reason (optional)'} maxlength={1000} />
        </label>
        {canBreak ? <BreakGlass /> : null}
        <button
          type="submit"
          name="choice"
          value="all"
          class="main"
          data-confirm={`Approve all ${plural(all, 'action')}?`}
        >
          Approve {all === 1 ? 'it' : `all ${countText(all)}`}
        </button>
        {all === 1 ? null : (
          <>
            <button type="submit" name="choice" value="except">
              Approve all but the ticked
            </button>
            <button type="submit" name="choice" value="only">
              Approve only the ticked
            </button>
          </>
        )}
      </Form>
      {all === 1 ? null : (
        <p class="quiet">
          What is not approved waits on as a plan of its own.
          {paged ? ' This page shows a part of the plan: only its ticks count.' : ''}
        </p>
      )}
      <Act
        to={`${pathOf(plan)}/reject`}
        label="Reject"
        reason="required"
        tone="danger"
        fields={{ digest: plan.digest }}
      />
      <p class="quiet">
        Rejecting refuses all of it: each target is left alone until its rule stops matching and matches again.
      </p>
    </section>
  );
}

/** People are alerted of it at once, and the audit names who did it. */
export function BreakGlass() {
  return (
    <label>
      <input type="checkbox" name="breakGlass" value="yes" /> Break glass: through the change window, with a reason
    </label>
  );
}

/** For the actions whose rules are exactly these. */
export function RuleButton({ rules, count }: { rules: readonly string[]; count: number }) {
  return (
    <button
      type="submit"
      form={FORM}
      name="choice"
      value={['rules', ...rules].join(' ')}
      data-confirm={`Approve ${plural(count, 'action')} of ${rules.join(', ')}?`}
    >
      Approve only the {plural(count, 'action')} of {rules.length === 1 ? 'this rule' : 'these rules'}
    </button>
  );
}
